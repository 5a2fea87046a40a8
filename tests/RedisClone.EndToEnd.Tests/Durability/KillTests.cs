using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>
/// kill -9 at random moments: under load, during a snapshot, a rewrite, and recovery itself. What comes back holds every
/// write that was acknowledged in <c>always</c>, all but the last moments of <c>everysec</c>, and no transaction in part.
/// </summary>
public sealed class KillTests(ITestOutputHelper output)
{
    [Fact]
    public void NothingAcknowledgedIsLostByKills()
    {
        int cycles = Seed.Times(200, 20_000);
        int directories = Math.Min(2, Environment.ProcessorCount);
        var failures = new Exception?[directories];
        var loops = new KillLoop[directories];
        var threads = new Thread[directories];
        for (int i = 0; i < directories; i++)
        {
            int index = i;
            threads[i] = new Thread(() =>
            {
                try
                {
                    using KillLoop loop = loops[index] = new KillLoop(Seed.Random($"kills {index}"));
                    for (int cycle = 1; cycle <= cycles / directories; cycle++)
                    {
                        loop.RunCycle();
                        if (cycle % 1000 == 0) Console.WriteLine($"{cycle} cycles in directory {index}; {loop.Summary}");
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
