using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedisClone.Compare.Load;

namespace RedisClone.Compare.Servers;

/// <summary>
/// A server started for a workload, on its own cores, port and directory, and what the system knows about it: processor
/// time, resident memory, bytes on disk. It ends, and its directory goes, with this object.
/// </summary>
internal sealed class ServerProcess : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly Queue<string> _lastLines = new();
    private bool _stopped;

    private ServerProcess(ServerKind kind, ServerSetup setup)
    {
        Kind = kind;
        Setup = setup;
        // The kernel ends the server when the thread that started it ends, however that comes about.
        string[] command = ["--pdeathsig", "KILL", "taskset", "-c", string.Join(',', setup.Cores), kind.Path];
        var start = new ProcessStartInfo("setpriv", [.. command, .. kind.Arguments(setup)])
        {
            WorkingDirectory = setup.Directory,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        _process = Process.Start(start)!;
        _process.OutputDataReceived += (_, line) => Remember(line.Data);
        _process.ErrorDataReceived += (_, line) => Remember(line.Data);
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
    }

    public ServerKind Kind { get; }

    public ServerSetup Setup { get; }

    /// <summary>From starting the process to its first PONG.</summary>
    public TimeSpan StartTime { get; private set; }

    /// <summary>Starts a server in a new directory below <paramref name="parent"/> and waits for its first PONG.</summary>
    public static ServerProcess Start(ServerKind kind, string parent, IReadOnlyList<int> cores, Durability durability)
    {
        for (int attempt = 0; ; attempt++)
        {
            string directory = Directory.CreateDirectory(
                Path.Combine(parent, $"compare-{Environment.ProcessId}-{Guid.NewGuid():N}")).FullName;
            try
            {
                return Start(kind, new ServerSetup(FreePort(), directory, cores, durability));
            }
            catch (LoadException e) when (attempt < 3 && e.Message.Contains("in use", StringComparison.OrdinalIgnoreCase))
            {
                // Somebody took the free port between our look and the server's; the next one is another.
            }
        }
    }

    public static ServerProcess Start(ServerKind kind, ServerSetup setup)
    {
        long started = Stopwatch.GetTimestamp();
        var server = new ServerProcess(kind, setup);
        try
        {
            while (!Ping(setup.Port))
            {
                if (server._process.HasExited || Stopwatch.GetElapsedTime(started) > s_patience)
                {
                    // Its last words have come only then.
                    server.Stop();
                    throw new LoadException($"{kind.Name} does not start:\n{server.LastLines()}");
                }
                Thread.Sleep(1);
            }
        }
        catch
        {
            server.Dispose();
            throw;
        }

        server.StartTime = Stopwatch.GetElapsedTime(started);
        return server;
    }

    public CpuTime Cpu() => ProcFs.Cpu(_process.Id);

    public long ResidentBytes() => ProcFs.ResidentBytes(_process.Id);

    public long PeakResidentBytes() => ProcFs.PeakResidentBytes(_process.Id);

    public long ProportionalBytes() => ProcFs.ProportionalBytes(_process.Id);

    public long DiskBytes() =>
        new DirectoryInfo(Setup.Directory).EnumerateFiles("*", SearchOption.AllDirectories).Sum(file => file.Length);

    /// <summary>What the server counts from here on is the next measurement's.</summary>
    public void ResetStatistics()
    {
        using var client = new RespClient(Setup.Port);
        client.Ask("CONFIG", "RESETSTAT");
    }

    /// <summary>The longest pause of its garbage collector since then, as it counts itself; null where it has no such count.</summary>
    public TimeSpan? LongestPause()
    {
        const string field = "gc_pause_max:";
        using var client = new RespClient(Setup.Port);
        string? line = client.Ask("INFO", "debug").Split('\n').FirstOrDefault(l => l.StartsWith(field, StringComparison.Ordinal));
        return line is null ? null : TimeSpan.FromMicroseconds(long.Parse(line.AsSpan(field.Length).Trim(), CultureInfo.InvariantCulture));
    }

    public void Dispose()
    {
        Stop();
        if (Directory.Exists(Setup.Directory))
            Directory.Delete(Setup.Directory, recursive: true);
    }

    /// <summary>Asks the server to end in good order, and leaves its directory.</summary>
    public void ShutDown()
    {
        try
        {
            using var client = new RespClient(Setup.Port);
            client.Ask("SHUTDOWN", "NOSAVE");
        }
        catch (IOException)
        {
            // The answer to SHUTDOWN is the end of the connection.
        }

        _process.WaitForExit(s_patience);
        Stop();
    }

    private void Stop()
    {
        if (_stopped)
            return;
        _stopped = true;
        if (!_process.HasExited)
            _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
    }

    private static bool Ping(int port)
    {
        try
        {
            using var client = new RespClient(port);
            return client.Ask("PING") == "+PONG";
        }
        catch (Exception e) when (e is SocketException or IOException)
        {
            return false;
        }
    }

    private static int FreePort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return ((IPEndPoint)listener.LocalEndpoint).Port;
    }

    private void Remember(string? line)
    {
        lock (_lastLines)
        {
            if (line is null)
                return;
            _lastLines.Enqueue(line);
            if (_lastLines.Count > 20)
                _lastLines.Dequeue();
        }
    }

    private string LastLines()
    {
        lock (_lastLines)
            return string.Join('\n', _lastLines);
    }
}
