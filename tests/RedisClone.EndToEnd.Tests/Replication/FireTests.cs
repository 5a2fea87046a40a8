using System.Diagnostics;
using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>
/// Failover under fire: a primary, two replicas and three sentinels, and clients that write with WAIT. In each round a server is
/// killed or stopped. Afterwards one primary is left, no replica differs from it, and it has every write that WAIT 2 confirmed.
/// The same schedule of faults against redis-server tells what it loses.
/// </summary>
public sealed class FireTests(ITestOutputHelper output) : IDisposable
{
    private const int Writers = 3, KeysOfWriter = 200, Patience = 3000;

    private static readonly string[] OfTests =
        ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1", "--repl-timeout", "5", "--appendonly", "yes"];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-fire-").FullName;
    private readonly ServerProcess[] _servers = new ServerProcess[3];
    private readonly int[] _ports = [Ports.Free(), Ports.Free(), Ports.Free()];
    private readonly Confirmed[] _confirmed = [.. Enumerable.Range(0, Writers).Select(_ => new Confirmed())];
    private Sentinels? _sentinels;
    private bool _ofRedis;
    private long _lostByOne, _lostByTwo;

    public void Dispose()
    {
        _sentinels?.Dispose();
        foreach (ServerProcess? server in _servers) server?.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public Task NoWriteThatTwoReplicasConfirmedIsLost() => RunAsync(rounds: 3);

    /// <summary>The figures to compare with. redis-server does not promise what is tested here.</summary>
    [Fact]
    public Task RedisServerIsUnderTheSameFire()
    {
        _ofRedis = true;
        return RunAsync(rounds: 1);
    }

    private async Task RunAsync(int rounds)
    {
        Random random = Seed.Random(output);
        rounds = LongRun.Times(rounds, 500);
        for (int i = 0; i < 3; i++) StartServer(i, i == 0 ? [] : ["--replicaof", "127.0.0.1", $"{_ports[0]}"]);
        _sentinels = new Sentinels(_ports[0], downAfter: 1000, failoverTimeout: 5000);
        _sentinels.AwaitReplicas(2, _servers[0]);
        long confirmed = 0;
        for (int round = 0; round < rounds; round++)
        {
            using var stop = new CancellationTokenSource();
            Task[] writers = [.. Enumerable.Range(0, Writers).Select(number => Task.Run(() => Write(number, round, stop.Token)))];
            await Task.Delay(random.Next(1000));
            string fault = Fault(round, random);
            await Task.Delay(random.Next(2000));
            await stop.CancelAsync();
            await Task.WhenAll(writers);
            ServerProcess primary = Settle($"{Seed.Note}, round {round}: {fault}");
            confirmed = Check(primary, $"{Seed.Note}, round {round}: {fault}");
            output.WriteLine($"round {round}: {fault}; so far {confirmed} writes confirmed by two replicas");
        }
        output.WriteLine($"{rounds} rounds of {(_ofRedis ? "redis-server" : "this server")}, {confirmed} writes confirmed by two replicas, of which " +
            $"{_lostByTwo} are lost; {_lostByOne} confirmed by one replica are lost");
        Assert.True(confirmed > 0);
    }

    private void StartServer(int number, params string[] options)
    {
        string folder = Path.Combine(_folder, $"{number}");
        Directory.CreateDirectory(folder);
        string[] arguments = [.. OfTests, "--port", $"{_ports[number]}", "--dir", folder, .. options];
        _servers[number] = _ofRedis ? ServerProcess.Redis(arguments) : ServerProcess.Ours([.. arguments, "--shards", "16"]);
    }

    /// <summary>The first rounds have the faults of a primary, so that a short run has them too.</summary>
    private string Fault(int round, Random random)
    {
        int primary = Array.IndexOf(_ports, _sentinels!.Primary), kind = round < 3 ? round : random.Next(4);
        int replica = (primary + 1 + random.Next(2)) % 3;
        switch (kind)
        {
            case 0:
                _servers[primary].Kill();
                AwaitFailover(primary, _servers[replica]);
                Restart(primary);
                return $"the primary {_ports[primary]} is killed";
            case 1:
                Signal(primary, "STOP");
                AwaitFailover(primary, _servers[replica]);
                Thread.Sleep(random.Next(1000));
                Signal(primary, "CONT");
                return $"the primary {_ports[primary]} is stopped";
            case 2:
                _servers[replica].Kill();
                Thread.Sleep(random.Next(1000));
                Restart(replica);
                return $"the replica {_ports[replica]} is killed";
            default:
                Signal(replica, "STOP");
                Thread.Sleep(random.Next(3000));
                Signal(replica, "CONT");
                return $"the replica {_ports[replica]} is stopped";
        }
    }

    private void AwaitFailover(int primary, ServerProcess replica)
    {
        for (int looks = 0; _sentinels!.Primary == _ports[primary]; looks++)
        {
            Assert.True(looks < 1200, $"no failover\n{replica.Output}\n{_sentinels.Output}");
            Thread.Sleep(100);
        }
    }

    private void Restart(int number)
    {
        _servers[number].Dispose();
        StartServer(number, number == 0 ? [] : ["--replicaof", "127.0.0.1", $"{_ports[0]}"]);
    }

    /// <summary>Waits until there is one primary, whose replicas follow it. Returns it.</summary>
    private ServerProcess Settle(string where)
    {
        string state = "";
        for (int looks = 0; looks < 1200; looks++, Thread.Sleep(100))
        {
            int named = _sentinels!.Primary;
            string[] roles = [.. _servers.Select(Role)];
            state = $"{named}: {string.Join(' ', roles)}";
            int at = Array.IndexOf(_ports, named);
            string follows = $"slave-{named}-connected";
            if (roles[at] != "master" || roles.Count(role => role == follows) != 2) continue;
            string[] digests = [.. _servers.Select(server => Call(server, "DEBUG", "DIGEST"))];
            if (digests.Distinct().Count() == 1) return _servers[at];
            state += " the data differ";
        }
        throw new InvalidOperationException($"{where}: {state}\n{string.Join("\n----\n", _servers.Select(server => server.Output))}");
    }

    private static string Role(ServerProcess server)
    {
        try
        {
            using var client = new RespClient(server.Port, patience: Patience);
            Reply role = client.Call("ROLE");
            return role[0].Text == "master" ? "master" : $"slave-{role[2].Text}-{role[3].Text}";
        }
        catch (Exception e) when (IsLost(e))
        {
            return "unreachable";
        }
    }

    private static string Call(ServerProcess server, params string[] request)
    {
        using var client = new RespClient(server.Port);
        return client.Call(request).ToString();
    }

    private long Check(ServerProcess primary, string where)
    {
        using RespClient client = primary.Connect();
        long count = 0;
        for (int writer = 0; writer < Writers; writer++)
        {
            Confirmed confirmed = _confirmed[writer];
            for (int key = 0; key < KeysOfWriter; key++)
            {
                long value = client.Call("GET", $"w:{writer}:{key}") is { IsNil: false } reply ? reply.Number() : -1;
                Assert.True(_ofRedis || value >= confirmed.ByTwo[key],
                    $"{where}: w:{writer}:{key} is {value}, and {confirmed.ByTwo[key]} was confirmed\n{primary.Output}");
                if (value < confirmed.ByTwo[key]) _lostByTwo++;
                if (value < confirmed.ByOne[key]) _lostByOne++;
                (confirmed.ByOne[key], confirmed.ByTwo[key]) = (Math.Min(value, confirmed.ByOne[key]), Math.Min(value, confirmed.ByTwo[key]));
            }
            count += confirmed.Count;
        }
        return count;
    }

    /// <summary>Writes numbers that grow to the primary that the sentinels name, and asks with WAIT who has them.</summary>
    private void Write(int writer, int round, CancellationToken stop)
    {
        Confirmed confirmed = _confirmed[writer];
        RespClient? client = null;
        for (long number = (round + 1L) << 32; !stop.IsCancellationRequested; number++)
        {
            try
            {
                client ??= new RespClient(_sentinels!.Primary, patience: Patience);
                int key = (int)(number % KeysOfWriter);
                if (client.Call("SET", $"w:{writer}:{key}", $"{number}").IsError)
                {
                    client.Dispose();
                    client = null;
                    Thread.Sleep(50);
                    continue;
                }
                long replicas = client.Call("WAIT", "2", "500").Text is { } text && long.TryParse(text, out long found) ? found : 0;
                if (replicas >= 1) confirmed.ByOne[key] = number;
                if (replicas < 2) continue;
                confirmed.ByTwo[key] = number;
                confirmed.Count++;
            }
            catch (Exception e) when (IsLost(e))
            {
                client?.Dispose();
                client = null;
                Thread.Sleep(50);
            }
        }
        client?.Dispose();
    }

    private static bool IsLost(Exception e) => e is SocketException or EndOfStreamException or TimeoutException or IOException;

    private void Signal(int number, string signal) => Process.Start("kill", [$"-{signal}", $"{_servers[number].Id}"]).WaitForExit();

    /// <summary>For each key of a writer, the highest number that one replica and that two replicas have.</summary>
    private sealed class Confirmed
    {
        public long[] ByOne { get; } = Filled();

        public long[] ByTwo { get; } = Filled();

        public long Count { get; set; }

        private static long[] Filled() => [.. Enumerable.Repeat(-1L, KeysOfWriter)];
    }
}
