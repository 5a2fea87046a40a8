using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Rdb;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal.Tests;

/// <summary>Tests verify and repair, which run while no server uses the journal.</summary>
public sealed class OfflineTests
{
    private static readonly JournalNames Copy = JournalRun.Names with { Root = "/copy" };

    [Fact]
    public void ADamagedJournalIsRefusedAndItsGoodPartCopied()
    {
        var (disk, units, position) = Journal();
        var path = JournalRun.Names.PathOf(JournalRun.Names.Increment(2));
        var bytes = disk[path];
        bytes[bytes.Length / 2] ^= 1;
        disk[path] = bytes;
        var before = disk[path];

        var report = JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck());
        Assert.Equal(JournalOutcome.Refused, report.Outcome);
        Assert.Equal(JournalRun.Names.Increment(2), report.File);
        Assert.InRange(report.Offset, 1, bytes.Length / 2);

        report = JournalTools.Repair(disk, JournalRun.Names, Copy);
        Assert.Equal(JournalOutcome.Cut, report.Outcome);
        Assert.Equal(before, disk[path]);
        var repaired = JournalTools.Verify(disk, Copy, new(), new StructureCheck());
        Assert.Equal(JournalOutcome.Clean, repaired.Outcome);
        Assert.Equal(report.Units, repaired.Units);
        Assert.InRange(repaired.Units, 1, units - 1);
        Assert.InRange(repaired.Lsn, position + 1, long.MaxValue);
        Assert.Equal(JournalOutcome.Refused, JournalTools.Repair(disk, JournalRun.Names, Copy).Outcome);
    }

    [Fact]
    public void ADamagedBaseIsRefused()
    {
        var (disk, _, _) = Journal();
        var path = JournalRun.Names.PathOf(JournalRun.Names.Base(1, rdb: true));
        var bytes = disk[path];
        bytes[^12] ^= 1;
        disk[path] = bytes;
        Assert.Equal(JournalOutcome.Refused, JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck()).Outcome);
        Assert.Equal(JournalOutcome.Refused, JournalTools.Repair(disk, JournalRun.Names, Copy).Outcome);
        Assert.False(disk.DirectoryExists(Copy.Directory));
    }

    [Fact]
    public void AnIncrementThatDoesNotFollowTheBaseIsRefused()
    {
        var (disk, _, position) = Journal();
        disk[JournalRun.Names.PathOf(JournalRun.Names.Base(1, rdb: true))] = Base(position - 1);
        var report = JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck());
        Assert.Equal(JournalOutcome.Refused, report.Outcome);
        Assert.Contains($"begins at position {position}, not at {position - 1}", report.Reason, StringComparison.Ordinal);
    }

    /// <summary>Such a base is from another journal. The increment is not taken for data that the base contains.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(100_000)]
    public void ABaseBeyondTheIncrementIsRefused(int distance)
    {
        var (disk, _, position) = Journal();
        disk[JournalRun.Names.PathOf(JournalRun.Names.Base(1, rdb: true))] = Base(position + distance);
        var report = JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck());
        Assert.Equal(JournalOutcome.Refused, report.Outcome);
        Assert.Contains($"begins at position {position}, but the files before it end at {position + distance}", report.Reason, StringComparison.Ordinal);
        Assert.Equal(JournalOutcome.Cut, JournalTools.Repair(disk, JournalRun.Names, Copy).Outcome);
    }

    /// <summary>The header and the first mark are durable before the manifest names the file. No crash takes them away.</summary>
    [Theory]
    [InlineData(0, 0)]
    [InlineData(55, 0)]
    [InlineData(111, 0)]
    [InlineData(112, 112)]
    [InlineData(150, 112)]
    public void ALastIncrementWithoutItsBeginningIsRefused(int kept, long offset)
    {
        foreach (var hasZeros in new[] { false, true })
        {
            var (disk, _, position) = Journal();
            var name = JournalRun.Names.Increment(2);
            var bytes = disk[JournalRun.Names.PathOf(name)];
            disk[JournalRun.Names.PathOf(name)] = hasZeros ? [.. bytes[..kept], .. new byte[bytes.Length - kept]] : bytes[..kept];

            var report = JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck());
            Assert.Equal((JournalOutcome.Refused, name, offset), (report.Outcome, report.File, report.Offset));
            Assert.Contains("was durable before the manifest named it", report.Reason, StringComparison.Ordinal);

            // The copy has the rest, without the file of which nothing is left.
            var repair = JournalTools.Repair(disk, JournalRun.Names, Copy);
            Assert.Equal((JournalOutcome.Cut, false), (repair.Outcome, repair.IsComplete));
            Assert.Contains($"{name}: nothing kept", repair.ToString(), StringComparison.Ordinal);
            Assert.EndsWith("all that the file had is lost", repair.ToString(), StringComparison.Ordinal);
            Assert.False(disk.Exists(Copy.PathOf(name)));
            var copy = JournalTools.Verify(disk, Copy, new(), new StructureCheck());
            Assert.Equal((JournalOutcome.Clean, position), (copy.Outcome, copy.Lsn));
        }
    }

    /// <summary>redis-server makes an increment before its first command, and a power loss leaves zeros in it.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(4096)]
    public void AnIncrementOfRedisMayLackABeginning(int zeros)
    {
        var (disk, _, position) = Journal();
        var names = JournalRun.Names;
        disk[names.PathOf(names.Increment(2))] = new byte[zeros];
        var manifest = $"file {names.Base(1, rdb: true)} seq 1 type b\nfile {names.Increment(2)} seq 2 type i\n";
        disk[names.PathOf(names.Manifest)] = System.Text.Encoding.ASCII.GetBytes(manifest);
        var report = JournalTools.Verify(disk, names, new(), new StructureCheck());
        Assert.True(report.Outcome is JournalOutcome.Clean or JournalOutcome.Cut, report.Reason);
        Assert.Equal((position, true), (report.Lsn, report.IsComplete));
    }

    [Fact]
    public void MissingFilesAndInvalidManifestsAreReported()
    {
        var (disk, _, _) = Journal();
        Assert.Equal(JournalOutcome.Absent, JournalTools.Verify(disk, Copy, new(), new StructureCheck()).Outcome);
        disk.Remove(JournalRun.Names.PathOf(JournalRun.Names.Increment(2)));
        Assert.Contains(
            "No such file or directory",
            JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck()).Reason,
            StringComparison.Ordinal);
        disk[JournalRun.Names.PathOf(JournalRun.Names.Manifest)] = "not a manifest\n"u8.ToArray();
        Assert.Contains(
            "Invalid AOF manifest file format",
            JournalTools.Verify(disk, JournalRun.Names, new(), new StructureCheck()).Reason,
            StringComparison.Ordinal);
    }

    /// <summary>Creates a journal of a real base and an increment after it.</summary>
    private static (SimulatedDisk Disk, int Units, long Position) Journal()
    {
        var disk = new SimulatedDisk();
        var tuning = new WriterTuning { Salts = new(7) };
        var buffer = new MergeBuffer(tuning);
        var writer = new JournalWriter(buffer, tuning);
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        writer.Start(directory, new() { Outcome = JournalOutcome.Absent });
        buffer.Append(0, Units.Command("SET", "before", "base"));
        var position = buffer.Switch();
        while (writer.WriteNext(fillAhead: true)) { }
        using (var file = disk.Open(JournalRun.Names.PathOf(JournalRun.Names.TemporaryBase), Disk.DiskOpen.New))
            file.Write(0, Base(position));
        writer.InstallBase(position, rdb: true);
        var history = writer.History;
        writer.DeleteFiles(history);
        writer.Forget(history);
        for (var i = 0; i < 40; i++)
        {
            buffer.Append(0, Units.Command("SET", "key" + i, new string('x', i)));
            writer.WriteNext(fillAhead: true);
            writer.Flush();
        }
        writer.Stop();
        return (disk, 40, position);
    }

    internal static byte[] Base(long position)
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        writer.Header(RdbVersion.Redis70);
        writer.Aux(RdbAux.JournalPosition, System.Text.Encoding.ASCII.GetBytes(position.ToString(null, null)));
        writer.SelectDatabase(0);
        writer.Type(RdbType.String);
        writer.String("before"u8);
        writer.String("base"u8);
        writer.End();
        return target.Bytes.ToArray();
    }
}
