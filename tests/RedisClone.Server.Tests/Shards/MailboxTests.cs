using RedisClone.Engine;
using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Shards;

/// <summary>The order in which a shard runs the work that was posted while it was held.</summary>
public sealed class MailboxTests
{
    [Fact]
    public async Task PatientWorkWaitsForOtherWorkButNotForever()
    {
        const int each = 100, most = each / (Limits.WorkPerPatientWork - 1) + 2;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        Shard shard = server.Core.Shards[0];
        var taken = new List<Noted>();
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        SpinWait.SpinUntil(shard.TryEnter);
        for (int i = 0; i < each; i++) shard.Post(new Noted(i, IsPatient: true, Take));
        for (int i = 0; i < each; i++) shard.Post(new Noted(i, IsPatient: false, Take));
        shard.Exit();
        await done.Task.WaitAsync(TimeSpan.FromMinutes(1));

        foreach (IGrouping<bool, Noted> kind in taken.GroupBy(work => work.IsPatient))
            Assert.Equal(Enumerable.Range(0, each), kind.Select(work => work.Number));
        int first = taken.FindIndex(work => work.IsPatient), last = taken.FindLastIndex(work => !work.IsPatient);
        Assert.InRange(first, 0, Limits.WorkPerPatientWork);
        Assert.InRange(last, each, each + most);

        void Take(Noted work)
        {
            taken.Add(work);
            if (taken.Count == 2 * each) done.SetResult();
        }
    }

    [Fact]
    public async Task AThreadDoesNotOvertakeWorkThatWaits()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        Shard shard = server.Core.Shards[0];
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        SpinWait.SpinUntil(shard.TryEnter);
        Assert.False(shard.TryEnterSoon());
        shard.Post(new Noted(0, IsPatient: false, _ => done.SetResult()));
        Assert.False(shard.TryEnterSoon());
        shard.Exit();
        await done.Task.WaitAsync(TimeSpan.FromMinutes(1));
        SpinWait.SpinUntil(shard.TryEnterSoon);
        shard.Exit();
    }

    [Fact]
    public async Task AThreadThatWaitsInPlaceIsAloneInTheShard()
    {
        const int each = 20_000;
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        Shard shard = server.Core.Shards[0];
        int inside = 0, most = 0;
        long before = shard.Holds;
        Parallel.For(0, 4, _ =>
        {
            for (int i = 0; i < each; i++)
            {
                while (!shard.TryEnterSoon()) Thread.Yield();
                most = Math.Max(most, ++inside);
                inside--;
                shard.Exit();
            }
        });
        Assert.Equal(1, most);
        Assert.Equal(0, inside);
        Assert.InRange(shard.Holds - before, 4 * each, long.MaxValue);
    }

    /// <summary>A long command on one shard must not stop clients of other shards because a further command needs all shards.</summary>
    [Fact]
    public async Task AHoldThatWaitsForAShardLeavesTheOthersToOtherClients()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        ShardMap shards = server.Core.Shards;
        int last = shards.Count - 1;
        var work = new Held();
        SpinWait.SpinUntil(shards[last].TryEnter);
        Assert.False(new ShardHold(shards, work).TryAcquire(shards.All));
        for (int i = 0; i < last; i++) Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[i]), TimeSpan.FromMinutes(1)));
        Assert.False(work.Done.IsCompleted);
        shards[last].Exit();
        await work.Done.WaitAsync(TimeSpan.FromMinutes(1));
        for (int i = 0; i <= last; i++) Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[i]), TimeSpan.FromMinutes(1)));
    }

    [Fact]
    public async Task AHoldThatHasWaitedOftenKeepsWhatItHasTaken()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        ShardMap shards = server.Core.Shards;
        var work = new Held();
        Shard busy = MakeWaitOften(shards, new ShardHold(shards, work));
        Assert.False(work.Done.IsCompleted);
        busy.Exit();
        await work.Done.WaitAsync(TimeSpan.FromMinutes(1));
        for (int i = 0; i < shards.Count; i++) Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[i]), TimeSpan.FromMinutes(1)));
    }

    /// <summary>A command that gets the error BUSY must not keep shards from other clients until the script ends.</summary>
    [Fact]
    public async Task AHoldThatGivesUpReleasesWhatItHasTaken()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        ShardMap shards = server.Core.Shards;
        var work = new Held();
        var hold = new ShardHold(shards, work) { MayGiveUp = true };
        Shard busy = MakeWaitOften(shards, hold);
        Assert.True(SpinWait.SpinUntil(hold.TryGiveUp, TimeSpan.FromMinutes(1)));
        Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[0]), TimeSpan.FromMinutes(1)));
        busy.Exit();
        for (int i = 0; i < shards.Count; i++) Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[i]), TimeSpan.FromMinutes(1)));
        Assert.False(work.Done.IsCompleted);
    }

    /// <summary>A command that gets no BUSY must not keep shards from other clients until the script ends either.</summary>
    [Fact]
    public async Task AHoldThatStepsBackReleasesWhatItHasTaken()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        ShardMap shards = server.Core.Shards;
        var work = new Held();
        Shard busy = MakeWaitOften(shards, new ShardHold(shards, work));
        shards.Persistent.StepBack();
        Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[0]), TimeSpan.FromMinutes(1)));
        Assert.False(work.Done.IsCompleted);
        busy.Exit();
        await work.Done.WaitAsync(TimeSpan.FromMinutes(1));
        for (int i = 0; i < shards.Count; i++) Assert.True(SpinWait.SpinUntil(() => TryVisit(shards[i]), TimeSpan.FromMinutes(1)));
    }

    /// <summary>Otherwise expired keys would fill the memory of a shard for as long as it is busy.</summary>
    [Fact]
    public async Task KeysExpireInAShardWhoseMailboxAlwaysHasWork()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        var busy = new Endless();
        for (int i = 0; i < server.Core.Shards.Count; i++) server.Core.Shards[i].Post(busy);
        for (int i = 0; i < 100; i++) client.Run($"SET key:{i} v PX 1");
        await client.UntilAsync("INFO stats", info => info.Contains("expired_keys:100\r", StringComparison.Ordinal));
        busy.Ends = true;
    }

    /// <summary>Makes a hold of all shards wait until it keeps what it has taken. Returns the shard that it waits for.</summary>
    private static Shard MakeWaitOften(ShardMap shards, ShardHold hold)
    {
        Shard busy = shards[2], next = shards[1];
        SpinWait.SpinUntil(busy.TryEnter);
        Assert.False(hold.TryAcquire(shards.All));
        for (int waits = 1; waits <= Limits.WaitsWithoutShards; waits++)
        {
            Assert.True(SpinWait.SpinUntil(next.TryEnter, TimeSpan.FromMinutes(1)));
            busy.Exit();
            Assert.True(SpinWait.SpinUntil(() => next.Queued == 1, TimeSpan.FromMinutes(1)));
            (busy, next) = (next, busy);
        }
        Assert.False(shards[0].TryEnter());
        return busy;
    }

    private static bool TryVisit(Shard shard)
    {
        if (!shard.TryEnter()) return false;
        shard.Exit();
        return true;
    }

    private sealed class Held : IHeldWork
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Done => _done.Task;

        public bool RunHeld() => true;

        public void Released(Exception? failure) => _done.SetResult();
    }

    /// <summary>Work that waits in a mailbox again whenever it has run.</summary>
    private sealed class Endless : IShardWork
    {
        public volatile bool Ends;

        public bool RunHeld(Shard shard)
        {
            if (!Ends) shard.Post(this);
            return false;
        }
    }

    private sealed record Noted(int Number, bool IsPatient, Action<Noted> Take) : IShardWork
    {
        public bool RunHeld(Shard shard)
        {
            Take(this);
            return false;
        }
    }
}
