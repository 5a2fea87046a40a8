using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using RedisClone.Compare.Load;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Servers;

/// <summary>
/// A server for a workload, with its own cores, port and directory, and its figures: processor time, resident memory, bytes on disk.
/// Dispose ends the server and those that were added to it, and deletes their directories.
/// </summary>
internal sealed partial class ServerProcess : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly Queue<string> _lastLines = new();
    private readonly List<ServerProcess> _others = [];
    private bool _stopped;

    private ServerProcess(ServerKind kind, ServerSetup setup)
    {
        Kind = kind;
        Setup = setup;
        // The kernel kills the server when the thread that started it ends for any reason.
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

    /// <summary>The time from the start of the process to its first PONG.</summary>
    public TimeSpan StartTime { get; private set; }

    /// <summary>
    /// Starts a server in a new directory below <paramref name="parent"/> and waits for its first PONG. A node of a cluster has no slots.
    /// </summary>
    public static ServerProcess Start(ServerKind kind, string parent, IReadOnlyList<int> cores, Workload workload)
    {
        for (int attempt = 0; ; attempt++)
        {
            string directory = Directory.CreateDirectory(
                Path.Combine(parent, $"compare-{Environment.ProcessId}-{Guid.NewGuid():N}")).FullName;
            try
            {
                bool isWatched = workload.IsWatched && kind.Name is (ServerKind.Ours or ServerKind.Native);
                ServerProcess server = Start(kind, new ServerSetup(FreePort(), directory, cores, workload.Durability)
                {
                    Link = workload.Link, TlsPort = FreePort(), HttpPort = isWatched ? FreePort() : 0,
                    ClusterPort = workload.InCluster ? FreePort() : 0,
                });
                return server;
            }
            catch (LoadException e) when (attempt < 3 && e.Message.Contains("in use", StringComparison.OrdinalIgnoreCase))
            {
                // Another process took the port between the check and the start of the server. The next attempt uses another port.
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
                    // Stop waits for the remaining output of the process.
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

    /// <summary>Starts a replica of this server, without waiting for its data. This server disposes it.</summary>
    public ServerProcess AddReplica(IReadOnlyList<int> cores, Workload workload)
    {
        ServerProcess replica = Add(cores, workload);
        replica.Follow(this);
        return replica;
    }

    private ServerProcess Add(IReadOnlyList<int> cores, Workload workload)
    {
        ServerProcess other = Start(Kind, Path.GetDirectoryName(Setup.Directory)!, cores, workload);
        _others.Add(other);
        return other;
    }

    /// <summary>Makes this server a replica, without waiting for the data of its primary.</summary>
    public void Follow(ServerProcess primary)
    {
        if (Ask("REPLICAOF", "127.0.0.1", Text(primary.Setup.Port)) is var answer && answer != "+OK")
            throw new LoadException($"REPLICAOF: {answer}");
    }

    /// <summary>Waits until this replica has the data of its primary.</summary>
    public void AwaitSynchronisation()
    {
        using var client = new RespClient(Setup.Port);
        Await("synchronisation", () => IsSynchronised(client));
    }

    /// <summary>Whether the replica at the other end of a connection has the data of its primary.</summary>
    public static bool IsSynchronised(RespClient replica) =>
        replica.Ask("INFO", "replication").Contains("master_link_status:up", StringComparison.Ordinal);

    /// <summary>Waits for a state of the server, and reports its last lines if it takes too long.</summary>
    public void Await(string what, Func<bool> isThere)
    {
        long started = Stopwatch.GetTimestamp();
        while (!isThere())
        {
            if (Stopwatch.GetElapsedTime(started) > s_patience)
                throw new LoadException($"{Kind.Name}: no {what}:\n{LastLines()}");
            Thread.Sleep(10);
        }
    }

    public CpuTime Cpu() => ProcFs.Cpu(_process.Id);

    public long ResidentBytes() => ProcFs.ResidentBytes(_process.Id);

    public long PeakResidentBytes() => ProcFs.PeakResidentBytes(_process.Id);

    public long ProportionalBytes() => ProcFs.ProportionalBytes(_process.Id);

    public long DiskBytes() =>
        new DirectoryInfo(Setup.Directory).EnumerateFiles("*", SearchOption.AllDirectories).Sum(file => file.Length);

    /// <summary>Resets the counters of the server before a measurement.</summary>
    public void ResetStatistics() => Ask("CONFIG", "RESETSTAT");

    /// <summary>Returns the longest pause of the garbage collector since the reset, or null if the server does not report it.</summary>
    public TimeSpan? LongestPause()
    {
        using var client = new RespClient(Setup.Port);
        return client.Figure("debug", "gc_pause_max") is { } pause ? TimeSpan.FromMicroseconds(pause) : null;
    }

    public void Dispose()
    {
        foreach (ServerProcess other in _others)
            other.Dispose();
        Stop();
        if (Directory.Exists(Setup.Directory))
            Directory.Delete(Setup.Directory, recursive: true);
    }

    /// <summary>Shuts the server down cleanly and keeps its directory.</summary>
    public void ShutDown()
    {
        try
        {
            using var client = new RespClient(Setup.Port);
            client.Ask("SHUTDOWN", "NOSAVE");
        }
        catch (IOException)
        {
            // SHUTDOWN closes the connection and has no reply.
        }

        _process.WaitForExit(s_patience);
        Stop();
    }

    /// <summary>Kills the server, as a failure of its machine would end it.</summary>
    public void Kill()
    {
        _process.Kill();
        _process.WaitForExit();
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

    private string Ask(params IEnumerable<string> arguments)
    {
        using var client = new RespClient(Setup.Port);
        return client.Ask(arguments);
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);

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
