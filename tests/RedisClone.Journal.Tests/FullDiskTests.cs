using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;

namespace RedisClone.Journal.Tests;

/// <summary>
/// A disk that becomes full while the journal runs. A write that found no space is repeated until there is space. A file that cannot be
/// created fails only the rewrite.
/// </summary>
public sealed class FullDiskTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Theory]
    [InlineData(FlushPolicy.Always)]
    [InlineData(FlushPolicy.EverySecond)]
    [InlineData(FlushPolicy.No)]
    public void AWriteThatFoundNoSpaceIsRepeated(FlushPolicy policy)
    {
        if (OperatingSystem.IsWindows()) return;
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(disk, JournalRun.Names, policy, observer);
        journal.Append(0, Units.Command("SET", "a", "1"));
        Assert.True(journal.Flush());

        disk.RunOutOfSpace(DiskCall.Write);
        journal.Append(0, Units.Command("SET", "a", "2"));
        Assert.False(journal.Flush());
        Assert.Equal(JournalState.Failed, journal.State);
        Assert.True(journal.AwaitsSpace);
        var last = journal.Append(0, Units.Command("SET", "a", "3"));
        Assert.True(journal.IsLost(last));

        // The disk has space again. Nothing is needed for it: no rebuild, no command.
        Assert.True(SpinWait.SpinUntil(() => journal.State == JournalState.Running, Patience));
        Assert.Equal(last, journal.DurableLsn);
        Assert.False(journal.IsLost(last));
        Assert.Equal("", journal.Failure);
        Assert.Null(journal.Stop());
        var found = new Collector();
        Assert.Equal(JournalOutcome.Clean, JournalRun.Read(disk, found).Outcome);
        Assert.Equal(3, found.Units.Count);
        Assert.Equal(Units.Command("SET", "a", "3"), found.Units[^1].Bytes);
    }

    [Fact]
    public void ARebuildMayReplaceWhatAwaitsSpace()
    {
        if (OperatingSystem.IsWindows()) return;
        var disk = new SimulatedDisk();
        var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, new ManualObserver());
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        disk.RunOutOfSpace(DiskCall.Write);
        journal.Append(0, Units.Command("SET", "a", "1"));
        Assert.False(journal.Flush());
        var lsn = journal.BeginRebuild(directory);
        Assert.False(journal.AwaitsSpace);
        JournalSetup.WriteBase(disk, lsn);
        Assert.Null(journal.InstallBase(lsn, rdb: true));
        journal.Append(0, Units.Command("SET", "b", "2"));
        Assert.Null(journal.Stop());
        JournalSetup.AssertContent(disk, lsn, Units.Command("SET", "b", "2"));
    }

    [Fact]
    public void ALongWaitForSpaceNeedsARebuild()
    {
        if (OperatingSystem.IsWindows()) return;
        var disk = new SimulatedDisk();
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, new ManualObserver()) { MostKept = 10 };
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        disk.RunOutOfSpace(DiskCall.Write);
        journal.Append(0, Units.Command("SET", "a", "1"));
        Assert.False(journal.Flush());
        Assert.True(SpinWait.SpinUntil(() => !journal.AwaitsSpace, Patience));
        Assert.Equal(JournalState.Failed, journal.State);
    }

    [Fact]
    public void AnIncrementThatCannotBeCreatedFailsOnlyTheRewrite()
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(disk, JournalRun.Names, FlushPolicy.Always, observer);
        journal.Append(0, Units.Command("SET", "a", "1"));
        Assert.True(journal.Flush());
        disk.FailNext(DiskCall.Open);
        var lsn = journal.SwitchIncrement();
        var second = journal.Append(0, Units.Command("SET", "a", "2"));
        journal.Appended();
        Assert.True(observer.WaitFor(second));
        Assert.Equal(JournalState.Running, journal.State);
        JournalSetup.WriteBase(disk, lsn);
        Assert.Equal("the next increment could not be created", journal.InstallBase(lsn, rdb: true));
        journal.AbandonBase();

        lsn = journal.SwitchIncrement();
        journal.Append(0, Units.Command("SET", "a", "3"));
        JournalSetup.WriteBase(disk, lsn);
        Assert.Null(journal.InstallBase(lsn, rdb: true));
        Assert.Null(journal.Stop());
        JournalSetup.AssertContent(disk, lsn, Units.Command("SET", "a", "3"));
    }
}
