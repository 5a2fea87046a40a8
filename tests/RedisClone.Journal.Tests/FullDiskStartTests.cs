using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests;

/// <summary>
/// Starts on the remains of a crash while one call of the disk fails for lack of space. Whether the start is refused or the
/// journal has failed, the files keep the data that recovery has read, also after a power loss. A rebuild continues the journal.
/// </summary>
public sealed class FullDiskStartTests(ITestOutputHelper output)
{
    private const int Starts = 100;

    private readonly Dictionary<JournalState, int> _outcomes = [];

    [Theory]
    [InlineData(DiskCall.Open)]
    [InlineData(DiskCall.Write)]
    [InlineData(DiskCall.Flush)]
    [InlineData(DiskCall.Truncate)]
    [InlineData(DiskCall.Rename)]
    [InlineData(DiskCall.FlushDirectory)]
    public void AStartWithoutSpaceKeepsTheData(DiskCall call)
    {
        if (OperatingSystem.IsWindows()) return;
        var seeds = Seed.Random(output);
        for (var run = 0; run < Starts; run++)
        {
            var seed = seeds.Next();
            var n = 1;
            while (Start(seed, call, n)) n++;
        }
        output.WriteLine(string.Join(", ", _outcomes));
        if (call is DiskCall.Write or DiskCall.Rename) Assert.True(_outcomes.GetValueOrDefault(JournalState.Failed) > 0);
    }

    [Fact]
    public void RepeatedStartsWithoutSpaceLeaveNoFiles()
    {
        if (OperatingSystem.IsWindows()) return;
        var disk = Killed(new(1));
        var before = Files(disk);
        foreach (var call in new[] { DiskCall.Write, DiskCall.Flush })
        {
            for (var n = 1; n <= 8; n++)
            {
                var again = disk.Clone();
                again.RunOutOfSpace(call, n);
                using var directory = JournalDirectory.TryOpen(again, JournalRun.Names, out _)!;
                using var journal = new JournalEngine(1, FlushPolicy.Always, new ManualObserver());
                journal.Start(directory, Read(again, out _));
                if (journal.State == JournalState.Running) break;
                Assert.Equal(before, Files(again));
            }
        }
    }

    /// <summary>A rewrite is repeated as long as it fails. Each attempt would leave a file with all data.</summary>
    [Theory]
    [InlineData(DiskCall.Open)]
    [InlineData(DiskCall.Write)]
    [InlineData(DiskCall.Flush)]
    public void AFailedRewriteLeavesNoBase(DiskCall call)
    {
        if (OperatingSystem.IsWindows()) return;
        var disk = Killed(new(1));
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, new ManualObserver());
        Assert.Null(journal.Start(directory, Read(disk, out _)));
        for (var n = 1; ; n++)
        {
            Assert.True(n < 10);
            var lsn = journal.SwitchIncrement();
            Assert.True(journal.Flush());
            using (var file = disk.Open(JournalRun.Names.PathOf(JournalRun.Names.TemporaryBase), DiskOpen.New)) file.Write(0, Collector.Snapshot(lsn));
            disk.RunOutOfSpace(call, n);
            var failure = journal.InstallBase(lsn, rdb: true);
            disk.FailsAt = 0;
            string[] named = directory.Manifest.Base is { } @base ? [@base.Name] : [];
            Assert.Equal(named, Files(disk).Where(static name => name.Contains(".base.", StringComparison.Ordinal)));
            if (failure is null) break;
        }
    }

    /// <summary>Returns false if the call does not occur so often.</summary>
    private bool Start(int seed, DiskCall call, int n)
    {
        var random = new Random(seed);
        var disk = Killed(random);
        var expected = Read(disk, out var units);
        if (expected.Outcome is JournalOutcome.Refused or JournalOutcome.Absent) return false;
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out var error);
        Assert.True(directory is not null, error);
        using var journal = new JournalEngine(1, FlushPolicy.Always, new ManualObserver());
        disk.RunOutOfSpace(call, n);
        var refusal = journal.Start(directory, expected);
        _outcomes[journal.State] = _outcomes.GetValueOrDefault(journal.State) + (refusal is null ? 1 : 0);
        if (journal.State == JournalState.Running) return false;
        Assert.Equal(JournalState.Failed, journal.State);
        foreach (var after in new[] { disk.Clone(), disk.Crash(random) })
        {
            Assert.NotEqual(JournalOutcome.Refused, Read(after, out var found).Outcome);
            Assert.Equal(units.Select(u => u.Bytes), found.Select(u => u.Bytes));
        }
        if (refusal is not null) return true;

        Assert.Equal((expected.Lsn, expected.Lsn), (journal.Lsn, journal.DurableLsn));
        var lsn = journal.BeginRebuild(directory);
        Assert.Equal(expected.Lsn, lsn);
        var last = journal.Append(0, Units.Command("SET", "after", "the failure"));
        using (var file = disk.Open(JournalRun.Names.PathOf(JournalRun.Names.TemporaryBase), DiskOpen.New))
            file.Write(0, Collector.Snapshot(lsn));
        Assert.Null(journal.InstallBase(lsn, rdb: true));
        Assert.True(journal.Flush());
        Assert.Equal(last, journal.DurableLsn);
        foreach (var after in new[] { disk.Clone(), disk.Crash(random) })
        {
            var collector = new Collector();
            Assert.NotEqual(JournalOutcome.Refused, JournalRun.Read(after, collector).Outcome);
            Assert.Equal(lsn, collector.SnapshotLsn);
            Assert.Equal(Units.Command("SET", "after", "the failure"), Assert.Single(collector.Units).Bytes);
        }
        return true;
    }

    private static SimulatedDisk Killed(Random random)
    {
        var disk = new SimulatedDisk { Random = new(random.Next()), PowerLossAt = 20 + random.Next(150) };
        var journal = new JournalRun(disk, random, []);
        if (journal.Start(new() { Outcome = JournalOutcome.Absent })) journal.Run(400, always: random.Next(2) == 0);
        return disk.Crash(random);
    }

    private static JournalReport Read(SimulatedDisk disk, out List<Unit> units)
    {
        var collector = new Collector();
        var report = JournalRun.Read(disk, collector);
        units = collector.Units;
        return report;
    }

    private static string[] Files(SimulatedDisk disk) =>
    [
        .. disk.List(JournalRun.Names.Directory).Where(name => !name.StartsWith("temp-", StringComparison.Ordinal))
            .Order(StringComparer.Ordinal),
    ];
}
