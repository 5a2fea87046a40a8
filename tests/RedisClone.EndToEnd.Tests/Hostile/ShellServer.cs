using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>A server that a shell starts, so that its output goes where the shell says and its limits are the shell's.</summary>
internal sealed class ShellServer : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(2);

    private readonly Process _shell;
    private readonly Task<string> _errors;

    /// <param name="command">SERVER stands for the program with its arguments.</param>
    /// <param name="arguments">The server's.</param>
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

    /// <summary>What came from standard error once it is closed.</summary>
    public string Errors => _errors.GetAwaiter().GetResult();

    /// <summary>Connects once the server serves.</summary>
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
                // Not yet.
            }
            Assert.False(_shell.HasExited, "the server ended");
            Assert.True(Stopwatch.GetElapsedTime(begun) < s_patience, "the server does not serve");
        }
    }

    /// <summary>Sends SIGTERM to the server and returns the exit code of the shell's command.</summary>
    public int Stop(int server)
    {
        using (Process kill = Process.Start("kill", ["-TERM", $"{server}"])) kill.WaitForExit();
        return WaitForExit();
    }

    /// <summary>The same for a server that the shell's command became, and that may have ended by itself.</summary>
    public int StopOrKill() => _shell.HasExited ? _shell.ExitCode : Stop(_shell.Id);

    public int WaitForExit()
    {
        Assert.True(_shell.WaitForExit(s_patience), "the server does not end");
        return _shell.ExitCode;
    }

    public static int ProcessOf(RespClient client) => int.Parse(Figure(client, "process_id"));

    public static string Figure(RespClient client, string name) =>
        client.Call("INFO", "everything").Text!.Split("\r\n").First(line => line.StartsWith(name + ":",
            StringComparison.Ordinal))[(name.Length + 1)..];

    public void Dispose()
    {
        if (!_shell.HasExited) _shell.Kill(entireProcessTree: true);
        _shell.WaitForExit();
        _shell.Dispose();
        Directory.Delete(Folder, recursive: true);
    }
}
