using System.Diagnostics;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>Three sentinels of redis-server that watch a primary by the name "store".</summary>
internal sealed class Sentinels : IDisposable
{
    public const string Name = "store";

    private const int LinesKept = 200;

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-sentinel-").FullName;
    private readonly List<Process> _processes = [];
    private readonly Queue<string> _lines = new();

    /// <param name="primary">The port of the primary.</param>
    /// <param name="downAfter">Milliseconds of silence after which a server counts as down.</param>
    /// <param name="failoverTimeout">Milliseconds after which a failover is tried again.</param>
    public Sentinels(int primary, int downAfter = 2000, int failoverTimeout = 20_000)
    {
        Ports = [.. Enumerable.Range(0, 3).Select(_ => Start(primary, downAfter, failoverTimeout))];
    }

    public int[] Ports { get; }

    /// <summary>The port of the primary, as the sentinels that answer say.</summary>
    public int Primary
    {
        get
        {
            using var client = new RespClient(Ports[0]);
            return (int)client.Call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Name)[1].Number();
        }
    }

    /// <summary>Waits until every sentinel knows the others and the replicas.</summary>
    public void AwaitReplicas(int count, ServerProcess server)
    {
        foreach (int port in Ports)
        {
            using var client = new RespClient(port);
            Replication.FollowingTests.Until(
                () => client.Call("SENTINEL", "REPLICAS", Name).Items is { } replicas && replicas.Length == count && Number(client, "num-other-sentinels") == 2
                    && client.Call("SENTINEL", "CKQUORUM", Name).Type == '+',
                "not all servers are known", server);
        }
    }

    /// <summary>What the sentinels have logged last.</summary>
    public string Output
    {
        get
        {
            lock (_lines) return string.Join('\n', _lines);
        }
    }

    public void Dispose()
    {
        foreach (Process process in _processes)
        {
            process.Kill();
            process.WaitForExit();
            process.Dispose();
        }
        Directory.Delete(_folder, recursive: true);
    }

    private void OnLine(object sender, DataReceivedEventArgs line)
    {
        if (line.Data is null) return;
        lock (_lines)
        {
            _lines.Enqueue(line.Data);
            if (_lines.Count > LinesKept) _lines.Dequeue();
        }
    }

    private static long Number(RespClient sentinel, string field)
    {
        Reply[] fields = sentinel.Call("SENTINEL", "MASTER", Name).Items!;
        return fields[Array.FindIndex(fields, item => item.Text == field) + 1].Number();
    }

    private int Start(int primary, int downAfter, int failoverTimeout)
    {
        int port = RedisClone.Tests.Ports.Free();
        string file = Path.Combine(_folder, $"{port}.conf");
        File.WriteAllLines(file,
        [
            $"port {port}", "bind 127.0.0.1", $"dir {_folder}", $"sentinel monitor {Name} 127.0.0.1 {primary} 2",
            $"sentinel down-after-milliseconds {Name} {downAfter}", $"sentinel failover-timeout {Name} {failoverTimeout}", $"sentinel parallel-syncs {Name} 2",
        ]);
        var start = new ProcessStartInfo("redis-server", [file, "--sentinel"]) { RedirectStandardOutput = true, RedirectStandardError = true };
        Process process = Process.Start(start)!;
        process.OutputDataReceived += OnLine;
        process.ErrorDataReceived += OnLine;
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        _processes.Add(process);
        for (int looks = 0; looks < 300; looks++)
        {
            try
            {
                using var client = new RespClient(port);
                client.Expect("+PONG", "PING");
                return port;
            }
            catch (System.Net.Sockets.SocketException)
            {
                Thread.Sleep(100);
            }
        }
        throw new InvalidOperationException("the sentinel does not start");
    }
}
