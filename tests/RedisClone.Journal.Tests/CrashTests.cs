using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests;

/// <summary>
/// Runs the whole engine on a simulated disk, with a crash at every point of a run, failures of every call, and lying
/// flushes. In every case the state after recovery is a prefix of the global order and contains all acknowledged units.
/// </summary>
public sealed class CrashTests(ITestOutputHelper output)
{
    [Fact]
    public void ACrashAnywhereLeavesAPrefixWithEverythingAcknowledged()
    {
        var recoveries = LongRun.Times(20_000, 1_000_000);
        output.WriteLine($"{Seed.Note}, {recoveries} recoveries");
        Parallel.For(0, Environment.ProcessorCount, worker =>
        {
            var seeds = Seed.Random(worker);
            for (var done = 0; done < recoveries / Environment.ProcessorCount;) done += CrashEverywhere(seeds.Next());
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
    public void AFailureOfAnyCallLeavesAPrefix(DiskCall call)
    {
        var seeds = Seed.Random(output);
        for (var run = 0; run < LongRun.Times(5, 200); run++)
        {
            var seed = seeds.Next();
            for (var n = 1; Fail(seed, call, n, powerLossAt: 0, out var operations); n++)
            {
                // The same failure again, with a power loss at a random operation before or after it.
                for (var i = 0; i < 3; i++) Fail(seed, call, n, 1 + seeds.Next(operations), out _);
            }
        }
    }

    [Fact]
    public void APowerLossAfterManyFailuresLeavesAPrefix()
    {
        var seeds = Seed.Random(output);
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
        var disk = new SimulatedDisk
        {
            Random = new(seed),
            FailingCall = call,
            FailsAt = n,
            FailsForGood = n % 2 == 0 && powerLossAt == 0,
            PowerLossAt = powerLossAt,
        };
        var journal = new JournalRun(disk, new(seed), []);
        if (journal.Start(new() { Outcome = JournalOutcome.Absent })) journal.Run(60, always: seed % 2 == 0);
        operations = disk.Operations;
        Check(disk.Crash(new(seed + n)), journal, $"seed {seed}, {call} {n}, power loss at {powerLossAt}");
        return disk.CallsOf(call) >= n;
    }

    [Fact]
    public void LyingFlushesLeadToAPrefixOrARefusal()
    {
        var seeds = Seed.Random(output);
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

    /// <summary>
    /// The first write replaces a file of Redis with a file of this server under the same name. A crash at any point
    /// leaves one of the two.
    /// </summary>
    [Fact]
    public void ACrashDuringTheAdoptionOfARedisFileLosesNothing()
    {
        var seeds = Seed.Random(output);
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
                Check(
                    disk.Crash(new(seed + at)), journal, $"seed {seed}, power loss at {at}",
                    Math.Max(journal.Acknowledged, report.Lsn));
            }
        }
    }

    /// <summary>
    /// Calls fail while the first write adopts a file of Redis. A write that may be repeated then must not go to the file of an adoption that
    /// has failed.
    /// </summary>
    [Fact]
    public void FailuresDuringTheAdoptionOfARedisFileLoseNothing()
    {
        var seeds = Seed.Random(output);
        for (var run = 0; run < LongRun.Times(3000, 100_000); run++)
        {
            var seed = seeds.Next();
            var disk = new SimulatedDisk { Random = new(seed) };
            PutFileOfRedis(disk, new(seed));
            var found = new Collector();
            var report = JournalRun.Read(disk, found);
            var journal = new JournalRun(disk, new(seed), [.. found.Units]);
            if (!journal.Start(report)) continue;
            disk.Failures = 0.02 + seeds.NextDouble() * 0.2;
            journal.Run(40, always: seed % 2 == 0);
            Check(disk.Crash(new(seed)), journal, $"seed {seed}", Math.Max(journal.Acknowledged, report.Lsn));
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
    /// Tries a power loss at every operation of one run. Each time, the surviving disk content is recovered. In half of
    /// the cases the recovered journal runs until a second power loss, which may occur during the recovery. Returns the
    /// number of operations.
    /// </summary>
    private static int CrashEverywhere(int seed)
    {
        var random = new Random(seed);
        var always = random.Next(2) == 0;
        var disk = new SimulatedDisk { Random = new(seed) };
        var journal = new JournalRun(disk, random, []);
        disk.MomentOfLoss = () =>
        {
            var what = $"seed {seed}, power loss at {disk.Operations}";
            var crashes = new Random(seed ^ disk.Operations);
            var after = disk.Crash(crashes);
            var kept = Check(after, journal, what);
            if (crashes.Next(2) == 0) CrashAgain(after, crashes, kept, always, journal.Acknowledged, what);
        };
        Assert.True(journal.Start(new() { Outcome = JournalOutcome.Absent }));
        journal.Run(30, always);
        if (random.Next(2) == 0) journal.Stop();
        return disk.Operations;
    }

    /// <summary>Runs the recovered journal until a second power loss, which may occur during the recovery.</summary>
    private static void CrashAgain(
        SimulatedDisk disk, Random random, List<Unit> kept, bool always, long acknowledged, string what)
    {
        var report = JournalRun.Read(disk, new());
        disk.PowerLossAt = 1 + random.Next(20);
        var second = new JournalRun(disk, random, kept);
        if (second.Start(report)) second.Run(20, always);
        Check(disk.Crash(random), second, $"{what}, then at {disk.PowerLossAt}", Math.Max(acknowledged, second.Acknowledged));
    }

    private static List<Unit> Check(SimulatedDisk disk, JournalRun run, string what, long acknowledged = -1)
    {
        var collector = new Collector();
        var report = JournalRun.Read(disk, collector);
        // Assert.True would build its message in every case, which took half of the time of a million crashes.
        if (report.Outcome == JournalOutcome.Refused) Assert.Fail($"{what}: {report}");
        if (acknowledged < 0) acknowledged = run.Acknowledged;
        if (report.Lsn < acknowledged) Assert.Fail($"{what}: acknowledged up to {acknowledged}\n{report}");
        return CheckPrefix(run.Units, collector, report, what);
    }

    private static List<Unit> CheckPrefix(List<Unit> units, Collector found, JournalReport report, string what)
    {
        var kept = units.FindAll(u => u.Lsn <= report.Lsn);
        var expected = kept.FindAll(u => u.Lsn > found.SnapshotLsn);
        if (expected.Count != found.Units.Count)
            Assert.Fail($"{what}: {expected.Count} units expected, {found.Units.Count} found\n{report}");
        for (var i = 0; i < expected.Count; i++)
        {
            var (wanted, unit) = (expected[i], found.Units[i]);
            if (wanted.Lsn != unit.Lsn || wanted.Database != unit.Database) Assert.Fail($"{what}: unit {i}\n{report}");
            if (!wanted.Bytes.AsSpan().SequenceEqual(unit.Bytes)) Assert.Fail($"{what}: bytes of unit {i}\n{report}");
        }
        return kept;
    }
}
