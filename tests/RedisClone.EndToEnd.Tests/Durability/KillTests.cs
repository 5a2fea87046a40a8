using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// Sends SIGKILL at random moments: under load, during a snapshot, during a rewrite, and during recovery. The recovered data
/// contains every write that was acknowledged with <c>always</c> or <c>no</c>, all writes but those of the last moments with <c>everysec</c>,
/// and no partial transaction. Short tests run 120 kills, the long run 20000.
/// </summary>
public sealed class KillTests(ITestOutputHelper output)
{
    [Theory]
    [InlineData("a")]
    [InlineData("b")]
    [InlineData("c")]
    [InlineData("d")]
    [InlineData("e")]
    public void KillsLoseNoAcknowledgedWrite(string directories)
    {
        int cycles = LongRun.Times(12, 2000);
        var failures = new Exception?[2];
        var loops = new KillLoop[failures.Length];
        var threads = new Thread[failures.Length];
        for (int i = 0; i < failures.Length; i++)
        {
            int index = i;
            loops[i] = new KillLoop(Seed.Random($"kills {directories}{i}"));
            threads[i] = new Thread(() =>
            {
                try
                {
                    using KillLoop loop = loops[index];
                    for (int cycle = 1; cycle <= cycles; cycle++)
                    {
                        loop.RunCycle();
                        if (cycle % 200 == 0) Console.WriteLine($"{cycle} cycles in directory {directories}{index}; {loop.Summary}");
                    }
                    loop.CheckSnapshot();
                }
                catch (Exception e)
                {
                    failures[index] = e;
                }
            })
            { IsBackground = true };
            threads[i].Start();
        }
        foreach (Thread thread in threads) thread.Join();
        foreach (KillLoop loop in loops) output.WriteLine(loop.Summary);
        if (Array.Find(failures, f => f is not null) is { } failure) throw new InvalidOperationException($"{Seed.Note}: {failure.Message}", failure);
    }
}
