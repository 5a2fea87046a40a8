using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>A server that a shell starts. The shell redirects its output and sets its limits.</summary>
internal sealed class ShellServer : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(2);

    private readonly Process _shell;
    private readonly Task<string> _errors;

    /// <param name="command">The command of the shell. SERVER stands for the program with its arguments.</param>
    /// <param name="arguments">The arguments of the server.</param>
    public ShellServer(string command, params IEnumerable<string> arguments)
    {
        Port = Ports.Free();
        string server = string.Join(' ', [ServerProcess.OurProgram, $"--port {Port} --bind 127.0.0.1 --dir '{Folder}'",
            .. arguments]);
        _shell = Process.Start(new ProcessStartInfo("/bin/sh", ["-c", command.Replace("SERVER", server,
            StringComparison.Ordinal)])
        {
            WorkingDirectory = Folder,
            RedirectStandardError = true,
        })!;
        _errors = _shell.StandardError.ReadToEndAsync();
    }

    public int Port { get; }

    public string Folder { get; } = Directory.CreateTempSubdirectory("redisclone-shell-").FullName;

    /// <summary>The complete standard error, available after it is closed.</summary>
    public string Errors => _errors.GetAwaiter().GetResult();

    /// <summary>Connects when the server accepts connections.</summary>
    public RespClient Connect()
    {
        for (long begun = Stopwatch.GetTimestamp(); ; Thread.Sleep(50))
        {
            try
            {
                var client = new RespClient(Port);
                if (client.Call("PING").Text == "PONG") return client;
                client.Dispose();
            }
            catch (Exception e) when (e is IOException or System.Net.Sockets.SocketException or EndOfStreamException)
            {
                // The server does not accept connections yet.
            }
            if (_shell.HasExited) Assert.Fail($"the server ended\n{LastWords}");
            Assert.True(Stopwatch.GetElapsedTime(begun) < s_patience, "the server does not serve");
        }
    }

    /// <summary>The exit code, the standard error and the end of the log of a server that has ended.</summary>
    private string LastWords
    {
        get
        {
            string log = Path.Combine(Folder, "log");
            string[] lines = File.Exists(log) ? File.ReadAllLines(log) : [];
            return $"exit code {_shell.ExitCode}:\n{Errors}\n{string.Join('\n', lines.TakeLast(20))}";
        }
    }

    /// <summary>Sends SIGTERM to the server and returns the exit code of the shell's command.</summary>
    public int Stop(int server)
    {
        using (Process kill = Process.Start("kill", ["-TERM", $"{server}"])) kill.WaitForExit();
        return WaitForExit();
    }

    /// <summary>Stops a server that replaced the shell and that may have exited already. Returns the exit code.</summary>
    public int StopOrKill() => _shell.HasExited ? _shell.ExitCode : Stop(_shell.Id);

    /// <summary>Stops the server, which must end as told and must not have ended before.</summary>
    public void AssertStops()
    {
        int exit = StopOrKill();
        Assert.True(exit == 0, LastWords);
    }

    public int WaitForExit()
    {
        Assert.True(_shell.WaitForExit(s_patience), "the server does not end");
        return _shell.ExitCode;
    }

    public static int ProcessOf(RespClient client) => int.Parse(client.Figure("process_id"));

    public void Kill()
    {
        if (!_shell.HasExited) _shell.Kill(entireProcessTree: true);
        _shell.WaitForExit();
    }

    public void Dispose()
    {
        Kill();
        _shell.Dispose();
        Directory.Delete(Folder, recursive: true);
    }
}
