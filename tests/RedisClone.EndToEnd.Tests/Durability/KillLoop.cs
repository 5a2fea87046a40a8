using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>A data directory whose server is killed many times, and the clients that remember the acknowledged writes.</summary>
internal sealed class KillLoop : IDisposable
{
    /// <summary>
    /// With <c>everysec</c>, a write waits up to a second while an fsync is running. The other seconds allow for a busy disk.
    /// </summary>
    private static readonly TimeSpan LongestLoss = TimeSpan.FromSeconds(10);

    private readonly Random _random;
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-kills-").FullName;
    private readonly KillClient[] _clients = [new(0), new(1), new(2)];
    private readonly SortedDictionary<string, int> _kills = [];
    private TimeSpan _startTime = TimeSpan.FromSeconds(1);
    private TimeSpan _killedAt;
    private bool _wasStrict = true;
    private int _life;
    private long _lost;

    public KillLoop(Random random) => _random = random;

    public string Summary =>
        $"kills: {string.Join(", ", _kills.Select(k => $"{k.Value} {k.Key}"))}; " +
        $"{_clients.Sum(c => c.TotalAcknowledged)} writes acknowledged, {_lost} lost in everysec";

    /// <summary>
    /// Starts the server on the data of the last kill, compares the data, runs load, and kills the server again.
    /// </summary>
    public void RunCycle()
    {
        string policy = _random.Next(5) switch { 0 => "everysec", 1 => "no", _ => "always" };
        string[] arguments = ["--dir", _folder, "--appendonly", "yes", "--appendfsync", policy, "--shutdown-on-sigterm", "nosave"];
        if (_random.Next(5) == 0)
        {
            using ServerProcess starting = ServerProcess.OursStarting(arguments);
            Thread.Sleep(_startTime * _random.NextDouble());
            Count("recovering");
            return;
        }
        long start = Stopwatch.GetTimestamp();
        ServerProcess server = ServerProcess.Ours(arguments);
        try
        {
            _startTime = Stopwatch.GetElapsedTime(start);
            Compare(server);
            _wasStrict = policy != "everysec";
            Run(server);
        }
        finally
        {
            server.Dispose();
            foreach (KillClient client in _clients) client.Join();
        }
    }

    /// <summary>Checks that the dump file is consistent, if a save was ever complete.</summary>
    public void CheckSnapshot()
    {
        if (!File.Exists(Path.Combine(_folder, "dump.rdb"))) return;
        using ServerProcess server = ServerProcess.Ours("--dir", _folder);
        using RespClient client = server.Connect();
        foreach (KillClient known in _clients) known.CheckKeys(client);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private void Compare(ServerProcess server)
    {
        using RespClient client = server.Connect();
        string[] log = [.. client.Call("LRANGE", KillClient.LogOf(_life), "0", "-1").Items!.Select(i => i.Text!)];
        foreach (KillClient known in _clients) _lost += known.Compare(client, log, _wasStrict ? TimeSpan.MaxValue : _killedAt - LongestLoss);
        client.Call("DEL", KillClient.LogOf(_life));
    }

    private void Run(ServerProcess server)
    {
        _life++;
        foreach (KillClient client in _clients) client.Start(server, _life, _random.Next());
        (string doing, string? command) = _random.Next(8) switch
        {
            0 => ("rewriting", "BGREWRITEAOF"),
            1 => ("saving", "SAVE"),
            2 => ("saving in the background", "BGSAVE"),
            _ => ("serving", null),
        };
        // The amount is a number of writes and not a time, because a busy machine would complete few writes in a fixed time.
        int enough = _random.Next(120);
        while (_clients.Sum(c => c.Acknowledged) < enough && !server.HasExited && !Array.Exists(_clients, c => c.HasFailed)) Thread.Sleep(1);
        using RespClient admin = server.Connect();
        if (command is not null)
        {
            admin.Send(command);
            Thread.Sleep(_random.Next(15));
        }
        Count(doing);
        _killedAt = KillClient.Now;
    }

    private void Count(string doing) => _kills[doing] = _kills.GetValueOrDefault(doing) + 1;
}
