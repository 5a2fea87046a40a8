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
    private const int TicksPerSecond = 100; // USER_HZ, which Linux promises to /proc on every platform
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly Queue<string> _lastLines = new();
    private bool _stopped;

    private ServerProcess(ServerKind kind, ServerSetup setup)
    {
        Kind = kind;
        Setup = setup;
        var start = new ProcessStartInfo("taskset", ["-c", string.Join(',', setup.Cores), kind.Path, .. kind.Arguments(setup)])
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
        string directory = Directory.CreateDirectory(
            Path.Combine(parent, $"compare-{Environment.ProcessId}-{Guid.NewGuid():N}")).FullName;
        return Start(kind, new ServerSetup(FreePort(), directory, cores, durability));
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
                    throw new LoadException($"{kind.Name} does not start:\n{server.LastLines()}");
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

    public CpuTime Cpu()
    {
        // The clock is exact; the split between user and system, and the children that have ended, are counted in ticks.
        long total = LinuxNative.ProcessCpuNanoseconds(_process.Id);
        string stat = File.ReadAllText($"/proc/{_process.Id}/stat");
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        long user = Ticks(fields[11]), system = Ticks(fields[12]), childUser = Ticks(fields[13]), childSystem = Ticks(fields[14]);
        return new CpuTime(total + childUser + childSystem, user + childUser, system + childSystem);

        static long Ticks(string field) => long.Parse(field, CultureInfo.InvariantCulture) * (1_000_000_000 / TicksPerSecond);
    }

    public long ResidentBytes() => Status("VmRSS:");

    public long PeakResidentBytes() => Status("VmHWM:");

    /// <summary>Memory of the process and its children, a page shared by several counted in parts.</summary>
    public long ProportionalBytes()
    {
        string children = File.ReadAllText($"/proc/{_process.Id}/task/{_process.Id}/children");
        return children.Split(' ', StringSplitOptions.RemoveEmptyEntries).Append($"{_process.Id}")
            .Sum(process => Field($"/proc/{process}/smaps_rollup", "Pss:"));
    }

    public long DiskBytes() => new DirectoryInfo(Setup.Directory).EnumerateFiles("*", SearchOption.AllDirectories).Sum(f => f.Length);

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

    private long Status(string field) => Field($"/proc/{_process.Id}/status", field);

    /// <summary>A line in kilobytes; 0 where it, or by now the process, does not exist.</summary>
    private static long Field(string file, string name)
    {
        try
        {
            string? line = File.ReadLines(file).FirstOrDefault(l => l.StartsWith(name, StringComparison.Ordinal));
            return line is null
                ? 0
                : long.Parse(line[name.Length..].Replace("kB", "", StringComparison.Ordinal), CultureInfo.InvariantCulture) * 1024;
        }
        catch (IOException)
        {
            return 0;
        }
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
