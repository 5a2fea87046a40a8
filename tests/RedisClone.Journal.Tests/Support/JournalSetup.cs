using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Tests.Support;

/// <summary>Starts engines for tests, writes bases for them, and checks what they leave on the disk.</summary>
internal static class JournalSetup
{
    public static JournalEngine Start(IDisk disk, JournalNames names, FlushPolicy policy, IJournalObserver observer, int loops = 1)
    {
        var directory = JournalDirectory.TryOpen(disk, names, out var error);
        Assert.True(directory is not null, error);
        var journal = new JournalEngine(loops, policy, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        return journal;
    }

    /// <summary>Writes the base for a position, which <see cref="JournalEngine.InstallBase"/> installs.</summary>
    public static void WriteBase(SimulatedDisk disk, long lsn)
    {
        using var file = disk.Open(JournalRun.Names.PathOf(JournalRun.Names.TemporaryBase), DiskOpen.New);
        file.Write(0, Collector.Snapshot(lsn));
        file.Flush();
    }

    /// <summary>The journal has a base for a position, and after it only one unit.</summary>
    public static void AssertContent(SimulatedDisk disk, long lsn, byte[] unit)
    {
        var found = new Collector();
        Assert.Equal(JournalOutcome.Clean, JournalRun.Read(disk, found).Outcome);
        Assert.Equal(lsn, found.SnapshotLsn);
        Assert.Equal(unit, Assert.Single(found.Units).Bytes);
    }
}
