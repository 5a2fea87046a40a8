using System.Globalization;
using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.Tests;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Replication;

/// <summary>
/// This server and redis-server as primary and replica, with a link that is cut again and again: in the middle of a snapshot, of the
/// stream and of a transaction. The load has keys of all types, transactions, scripts, expiry and eviction. After each pause of the
/// load both servers have the same data.
/// </summary>
public sealed class BrokenLinkTests(ITestOutputHelper output)
{
    private const int CutsUntilPause = 5, Room = 8 << 20;

    private static readonly string[] OfTests = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];
    private static readonly string[] OfPrimary = [.. OfTests, "--repl-backlog-size", "1mb", "--maxmemory-policy", "allkeys-random"];

    [Theory]
    [InlineData("ours", "disabled", 5, 300)]
    [InlineData("ours", "swapdb", 5, 200)]
    [InlineData("redis", "disabled", 5, 300)]
    [InlineData("redis", "swapdb", 5, 200)]
    public async Task AMixedPairHasTheSameDataAfterCuts(string primaryIs, string disklessLoad, int cuts, int inLongRuns)
    {
        string[] ofReplica = [.. OfTests, "--repl-diskless-load", disklessLoad];
        using ServerProcess primary = primaryIs == "ours" ? ServerProcess.Ours(OfPrimary) : ServerProcess.Redis(OfPrimary);
        using ServerProcess replica = primaryIs == "ours" ? ServerProcess.Redis(ofReplica) : ServerProcess.Ours(ofReplica);
        (ServerProcess ours, ServerProcess redis) = primaryIs == "ours" ? (primary, replica) : (replica, primary);
        using var proxy = new CutProxy(primary.Port);
        using RespClient client = primary.Connect();
        Random random = Seed.Random($"{primaryIs} {disklessLoad}");
        // A BITFIELD whose operations all fail because of OVERFLOW FAIL grows the value of redis-server, which does not tell its replicas.
        IEnumerable<Template> templates = new RowTemplates(ours, redis).Independent.Where(template => template.Name != "BITFIELD" || primary == ours);
        var stream = new CommandStream(templates, random);
        foreach (string[] request in CommandStream.Preparation) client.Call(request);
        client.Expect("+OK", "CONFIG", "SET", "maxmemory", $"{long.Parse(client.Figure("used_memory", "memory"), CultureInfo.InvariantCulture) + Room}");
        FollowingTests.Follow(replica, proxy.Port);
        int wanted = LongRun.Times(cuts, inLongRuns), pauses = 0;
        while (proxy.Cuts < wanted)
        {
            using var stop = new CancellationTokenSource();
            int round = pauses++;
            Task[] writers =
            [
                Task.Run(() => SendRandom(primary, stream, stop.Token)),
                Task.Run(() => SendUnits(primary, stop.Token)),
                // Without the large values, the backlog reaches back far enough for the replica to continue.
                Task.Run(() => SendLarge(primary, round, round % 2 == 0 ? stop.Token : new CancellationToken(canceled: true))),
            ];
            await CutAsync(proxy, Math.Min(wanted, proxy.Cuts + CutsUntilPause), round);
            await stop.CancelAsync();
            await Task.WhenAll(writers);
            FollowingTests.AssertSame(primary, replica);
        }
        output.WriteLine($"{Seed.Note}, the primary is {primaryIs}, {disklessLoad}: {proxy.Cuts} cuts, {pauses} pauses, "
            + $"{client.Figure("sync_full", "stats")} copies, {client.Figure("sync_partial_ok", "stats")} continued, "
            + $"{client.Figure("evicted_keys", "stats")} evicted, {client.Figure("expired_keys", "stats")} expired, "
            + $"{client.Figure("total_commands_processed", "stats")} commands");
        ours.AssertWell();
    }

    /// <summary>Cuts the link until there have been this many cuts.</summary>
    private static async Task CutAsync(CutProxy proxy, int until, int round)
    {
        Random random = Seed.Random($"cuts of round {round}");
        while (proxy.Cuts < until)
        {
            await Task.Delay(random.Next(300));
            int before = proxy.Cuts;
            proxy.CutAfter(random.Next(4) == 0 ? random.Next(Room) : random.Next(20_000));
            for (int looks = random.Next(20); looks > 0 && proxy.Cuts == before; looks--) await Task.Delay(50);
            proxy.Cut();
        }
    }

    private static void SendRandom(ServerProcess primary, CommandStream stream, CancellationToken stop)
    {
        using RespClient client = primary.Connect();
        while (!stop.IsCancellationRequested) client.Call(stream.Next());
        client.Call("DISCARD");
    }

    private static void SendUnits(ServerProcess primary, CancellationToken stop)
    {
        // redis-server refuses commands with OOM when its buffers leave no room for data.
        while (!stop.IsCancellationRequested) FollowingTests.Load(primary, 0, rounds: 10, mayFail: true);
    }

    /// <summary>Writes more than maxmemory allows, so that keys are evicted.</summary>
    private static void SendLarge(ServerProcess primary, int round, CancellationToken stop)
    {
        using RespClient client = primary.Connect();
        Random random = Seed.Random($"large values of round {round}");
        while (!stop.IsCancellationRequested)
        {
            string[] set = ["SET", $"large:{random.Next(1000)}", new string('x', random.Next(30_000))];
            client.Call(random.Next(3) == 0 ? [.. set, "PX", $"{random.Next(1, 2000)}"] : set);
            Thread.Sleep(1);
        }
    }
}
