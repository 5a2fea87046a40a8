using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests;

/// <summary>
/// The whole engine on a simulated disk: crash at every point of a run, fail every call, lie about flushes. Whatever comes,
/// the state after recovery is a prefix of the global order, and contains everything acknowledged.
/// </summary>
public sealed class CrashTests(ITestOutputHelper output)
{
    [Fact]
    public void ACrashAnywhereLeavesAPrefixWithEverythingAcknowledged()
    {
        var recoveries = LongRun.Times(20_000, 1_000_000);
        output.WriteLine($"RC_SEED={TestSeed.Seed}, {recoveries} recoveries");
        Parallel.For(0, Environment.ProcessorCount, worker =>
        {
            var seeds = new Random(TestSeed.Seed + worker);
            for (var done = 0; done < recoveries / Environment.ProcessorCount;)
            {
                var seed = seeds.Next();
                var operations = Crash(seed, 0);
                var stride = 1 + seeds.Next(3);
                for (var at = 1 + seeds.Next(stride); at <= operations; at += stride, done++) Crash(seed, at);
            }
        });
    }

    [Theory]
    [InlineData(DiskCall.Open)]
    [InlineData(DiskCall.Write)]
    [InlineData(DiskCall.Flush)]
    [InlineData(DiskCall.Truncate)]
    [InlineData(DiskCall.Rename)]
    [InlineData(DiskCall.Delete)]
    [InlineData(DiskCall.FlushDirectory)]
    [InlineData(DiskCall.Lock)]
    public void TheNthCallFails(DiskCall call)
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var seeds = new Random(TestSeed.Seed);
        for (var run = 0; run < LongRun.Times(5, 200); run++)
        {
            var seed = seeds.Next();
            for (var n = 1; Fail(seed, call, n, powerLossAt: 0, out var operations); n++)
            {
                // And again, with the power going somewhere after (or before) the failure.
                for (var i = 0; i < 3; i++) Fail(seed, call, n, 1 + seeds.Next(operations), out _);
            }
        }
    }

    [Fact]
    public void AfterManyFailuresAPowerLossLeavesAPrefixToo()
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var seeds = new Random(TestSeed.Seed);
        for (var run = 0; run < LongRun.Times(3000, 300_000); run++)
        {
            var seed = seeds.Next();
            var disk = new SimulatedDisk { Random = new(seed), PowerLossAt = 20 + seeds.Next(200) };
            var journal = new JournalRun(disk, new(seed), []);
            if (!journal.Start(new() { Outcome = JournalOutcome.Absent })) continue;
            disk.Failures = 0.02 + seeds.NextDouble() * 0.15;
            journal.Run(150, always: seed % 2 == 0);
            Check(disk.Crash(new(seed)), journal, $"seed {seed}, power loss at {disk.PowerLossAt}");
        }
    }

    private static bool Fail(int seed, DiskCall call, int n, int powerLossAt, out int operations)
    {
        var disk = new SimulatedDisk { Random = new(seed), FailingCall = call, FailsAt = n, FailsForGood = n % 2 == 0 && powerLossAt == 0, PowerLossAt = powerLossAt };
        var journal = new JournalRun(disk, new(seed), []);
        if (journal.Start(new() { Outcome = JournalOutcome.Absent })) journal.Run(60, always: seed % 2 == 0);
        operations = disk.Operations;
        Check(disk.Crash(new(seed + n)), journal, $"seed {seed}, {call} {n}, power loss at {powerLossAt}");
        return disk.CallsOf(call) >= n;
    }

    [Fact]
    public void FlushesThatLieLeaveAPrefixOrARefusal()
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var seeds = new Random(TestSeed.Seed);
        var refusals = 0;
        for (var run = 0; run < LongRun.Times(3000, 100_000); run++)
        {
            var seed = seeds.Next();
            var random = new Random(seed);
            var disk = new SimulatedDisk { Random = new(seed), LyingFlushes = 0.3, PowerLossAt = 1 + seeds.Next(80) };
            var journal = new JournalRun(disk, random, []);
            if (journal.Start(new() { Outcome = JournalOutcome.Absent })) journal.Run(60, always: seed % 2 == 0);
            var collector = new Collector();
            var report = JournalRun.Read(disk.Crash(new(seed)), collector);
            if (report.Outcome == JournalOutcome.Refused) refusals++;
            else CheckPrefix(journal.Units, collector, report, $"seed {seed}");
        }
        Assert.NotEqual(0, refusals);
    }

    /// <summary>The first write turns a file of Redis's into one of ours, under the same name: a crash anywhere leaves the one or the other.</summary>
    [Fact]
    public void ACrashWhileAFileOfRedisIsTakenInLosesNothing()
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var seeds = new Random(TestSeed.Seed);
        for (var run = 0; run < LongRun.Times(100, 3000); run++)
        {
            var seed = seeds.Next();
            for (int at = 0, operations = 0; at <= operations; at++)
            {
                var disk = new SimulatedDisk { Random = new(seed) };
                PutFileOfRedis(disk, new(seed));
                var prepared = disk.Operations;
                if (at > 0) disk.PowerLossAt = prepared + at;
                var found = new Collector();
                var report = JournalRun.Read(disk, found);
                Assert.Equal(JournalOutcome.Clean, report.Outcome);
                var journal = new JournalRun(disk, new(seed), [.. found.Units]);
                if (journal.Start(report))
                {
                    journal.Run(12, always: seed % 2 == 0);
                    if (seed % 3 == 0) journal.Stop();
                }
                if (at == 0) operations = disk.Operations - prepared;
                Check(disk.Crash(new(seed + at)), journal, $"seed {seed}, power loss at {at}", Math.Max(journal.Acknowledged, report.Lsn));
            }
        }
    }

    private static void PutFileOfRedis(SimulatedDisk disk, Random random)
    {
        var names = JournalRun.Names;
        disk.CreateDirectory(names.Directory);
        disk.FlushDirectory(names.Root);
        var bytes = new List<byte>();
        for (var i = 0; i < random.Next(12); i++)
        {
            if (random.Next(3) == 0) bytes.AddRange("#TS:1700000000\r\n"u8);
            if (random.Next(3) == 0) bytes.AddRange(Units.Command("SELECT", $"{random.Next(3)}"));
            bytes.AddRange(Units.Make(random, i));
        }
        disk[names.PathOf(names.Increment(1))] = [.. bytes];
        disk[names.PathOf(names.Manifest)] = [.. "file appendonly.aof.1.incr.aof seq 1 type i\n"u8];
    }

    /// <summary>
    /// Runs until the power goes, recovers, runs on, and again. Returns how many operations the disk saw in the first life.
    /// </summary>
    private static int Crash(int seed, int powerLossAt)
    {
        var random = new Random(seed);
        var always = random.Next(2) == 0;
        var disk = new SimulatedDisk { Random = new(seed), PowerLossAt = powerLossAt };
        var journal = new JournalRun(disk, random, []);
        if (journal.Start(new() { Outcome = JournalOutcome.Absent }))
        {
            journal.Run(30, always);
            if (random.Next(2) == 0) journal.Stop();
        }
        if (powerLossAt == 0) return disk.Operations;
        var crashes = new Random(seed ^ powerLossAt);
        var after = disk.Crash(crashes);
        var kept = Check(after, journal, $"seed {seed}, power loss at {powerLossAt}");

        // A second life, which may end within recovery itself.
        if (crashes.Next(2) == 0)
        {
            var report = JournalRun.Read(after, new());
            after.PowerLossAt = 1 + crashes.Next(20);
            var second = new JournalRun(after, crashes, kept);
            if (second.Start(report)) second.Run(20, always);
            Check(after.Crash(crashes), second, $"seed {seed}, power loss at {powerLossAt}, then at {after.PowerLossAt}", Math.Max(journal.Acknowledged, second.Acknowledged));
        }
        return disk.Operations;
    }

    private static List<Unit> Check(SimulatedDisk disk, JournalRun run, string what, long acknowledged = -1)
    {
        var collector = new Collector();
        var report = JournalRun.Read(disk, collector);
        Assert.True(report.Outcome != JournalOutcome.Refused, $"{what}: {report}");
        if (acknowledged < 0) acknowledged = run.Acknowledged;
        Assert.True(report.Lsn >= acknowledged, $"{what}: acknowledged up to {acknowledged}\n{report}");
        return CheckPrefix(run.Units, collector, report, what);
    }

    private static List<Unit> CheckPrefix(List<Unit> units, Collector found, JournalReport report, string what)
    {
        var kept = units.Where(u => u.Lsn <= report.Lsn).ToList();
        var expected = kept.Where(u => u.Lsn > found.SnapshotLsn).ToList();
        Assert.True(expected.Count == found.Units.Count, $"{what}: {expected.Count} units expected, {found.Units.Count} found\n{report}");
        for (var i = 0; i < expected.Count; i++)
        {
            Assert.True(expected[i].Lsn == found.Units[i].Lsn && expected[i].Database == found.Units[i].Database, $"{what}: unit {i}\n{report}");
            Assert.True(expected[i].Bytes.AsSpan().SequenceEqual(found.Units[i].Bytes), $"{what}: bytes of unit {i}\n{report}");
        }
        return kept;
    }
}
