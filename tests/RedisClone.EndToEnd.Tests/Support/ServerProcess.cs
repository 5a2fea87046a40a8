using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// A server for one test: a process on a free port and in a temporary folder, which the test ends by its id. Our server is the
/// executable that was built with the tests. REDISCLONE_SERVER names another one, such as the native executable. The
/// oracle is the redis-server on the path; REDIS_SERVER names another one. A test that needs the oracle fails if it is missing.
/// </summary>
internal sealed class ServerProcess : IDisposable
{
    private readonly Process _process;
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-e2e-").FullName;
    private readonly StringBuilder _output = new();
    private readonly ManualResetEventSlim _ready = new();

    private ServerProcess(string program, string[] first, string[] arguments)
    {
        int named = Array.IndexOf(arguments, "--port");
        Port = named < 0 ? Ports.Free() : int.Parse(arguments[named + 1], CultureInfo.InvariantCulture);
        // A configuration file comes first.
        string[] file = arguments is [var head, ..] && !head.StartsWith('-') ? [head] : [];
        string[] ofTests = ["--port", $"{Port}", "--bind", "127.0.0.1", "--dir", _folder, "--save", "", "--repl-diskless-sync-delay", "0"];
        _process = Process.Start(new ProcessStartInfo(program, [.. first, .. file, .. ofTests, .. arguments[file.Length..]])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = _folder,
        })!;
        _process.OutputDataReceived += OnLine;
        _process.ErrorDataReceived += OnLine;
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
        _process.StandardInput.Close();
    }

    private void WaitUntilReady(string program)
    {
        while (!_ready.Wait(100))
        {
            if (!HasExited) continue;
            string output = Output;
            Dispose();
            throw new InvalidOperationException($"{program} exited at once:\n{output}");
        }
    }

    public int Port { get; }

    public int Id => _process.Id;

    /// <summary>Whether the process has ended. Then <see cref="Output"/> is complete.</summary>
    public bool HasExited
    {
        get
        {
            if (!_process.HasExited) return false;
            // The last lines may arrive after the exit.
            _process.WaitForExit();
            return true;
        }
    }

    /// <summary>The output so far.</summary>
    public string Output
    {
        get
        {
            lock (_output) return _output.ToString();
        }
    }

    /// <summary>The resident memory in bytes.</summary>
    public long ResidentBytes
    {
        get
        {
            string line = File.ReadLines($"/proc/{_process.Id}/status").First(l => l.StartsWith("VmRSS:", StringComparison.Ordinal));
            return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1]) * 1024;
        }
    }

    public static ServerProcess Ours(params string[] arguments) => Start(OurProgram, arguments);

    /// <summary>Starts our server with variables in its environment.</summary>
    public static ServerProcess OursWith(params (string Name, string Value)[] variables) =>
        Start("/usr/bin/env", [.. variables.Select(variable => $"{variable.Name}={variable.Value}"), OurProgram], []);

    /// <summary>Starts our server without waiting until it is ready.</summary>
    public static ServerProcess OursStarting(params string[] arguments) => new(OurProgram, [], arguments);

    /// <summary>Runs our executable with exactly these arguments until it exits. Returns its exit code and its output.</summary>
    public static (int ExitCode, string Output) RunOurs(params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(OurProgram, arguments) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        Task<string> error = process.StandardError.ReadToEndAsync();
        string output = process.StandardOutput.ReadToEnd();
        output += error.Result;
        process.WaitForExit();
        return (process.ExitCode, output);
    }

    public static ServerProcess Redis(params string[] arguments) =>
        Start(Environment.GetEnvironmentVariable("REDIS_SERVER") ?? "redis-server", arguments);

    public static string OurProgram { get; } = NamedExecutable() ?? BuiltExecutable();

    public RespClient Connect(int protocol = 2)
    {
        var client = new RespClient(Port);
        if (protocol == 3) Assert.Equal('%', client.Call("HELLO", "3").Type);
        return client;
    }


    /// <summary>
    /// Fails if the process ended or if its log contains an exception. Every hostile test ends with this check.
    /// </summary>
    public void AssertWell()
    {
        Assert.False(HasExited, $"the server exited:\n{Output}");
        using RespClient client = Connect();
        client.Expect("+PONG", "PING");
        Assert.False(Output.Contains("Exception", StringComparison.Ordinal), $"the log has an exception:\n{Output}");
    }

    /// <summary>
    /// Fails if the log does not come to contain a text. The server writes its log on a thread of its own, so that a client may see an event
    /// before its line can be read.
    /// </summary>
    public void AssertLogs(string text)
    {
        for (int looks = 0; !Output.Contains(text, StringComparison.Ordinal); looks++)
        {
            Assert.True(looks < 600, $"the log has no \"{text}\":\n{Output}");
            Thread.Sleep(100);
        }
    }

    /// <summary>Kills the process like a crash.</summary>
    public void Kill()
    {
        if (!_process.HasExited) _process.Kill();
        _process.WaitForExit();
    }

    public void Dispose()
    {
        Kill();
        _process.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    public static ServerProcess Start(string program, params string[] arguments) => Start(program, [], arguments);

    private static ServerProcess Start(string program, string[] first, string[] arguments)
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                var server = new ServerProcess(program, first, arguments);
                server.WaitUntilReady(program);
                return server;
            }
            catch (InvalidOperationException e) when (attempt < 3 && e.Message.Contains("in use", StringComparison.OrdinalIgnoreCase))
            {
                // Another process took the port between the check and the start of the server. The next attempt uses another
                // port.
            }
        }
    }

    /// <summary>A server would take the variable for a parameter, and warn of it, so the variable is removed.</summary>
    private static string? NamedExecutable()
    {
        string? path = Environment.GetEnvironmentVariable("REDISCLONE_SERVER");
        Environment.SetEnvironmentVariable("REDISCLONE_SERVER", null);
        return path;
    }

    /// <summary>The output folder of the server project, for the configuration and framework of these tests.</summary>
    private static string BuiltExecutable()
    {
        var here = new DirectoryInfo(AppContext.BaseDirectory);
        string root = here.Parent!.Parent!.Parent!.Parent!.Parent!.FullName;
        return Path.Combine(root, "src", "RedisClone.Server", "bin", here.Parent.Name, here.Name, "RedisClone.Server");
    }

    private void OnLine(object sender, DataReceivedEventArgs line)
    {
        if (line.Data is null) return;
        lock (_output) _output.AppendLine(line.Data);
        if (line.Data.Contains("Ready to accept connections", StringComparison.Ordinal)) _ready.Set();
    }
}
