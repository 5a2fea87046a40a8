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

    private sealed record Noted(int Number, bool IsPatient, Action<Noted> Take) : IShardWork
    {
        public bool RunHeld(Shard shard)
        {
            Take(this);
            return false;
        }
    }
}
