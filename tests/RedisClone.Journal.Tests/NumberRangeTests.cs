using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal.Tests;

/// <summary>Tests that numbers in the files that leave no room for larger ones are refused, and that none overflows.</summary>
public sealed class NumberRangeTests
{
    private static readonly JournalNames Names = JournalRun.Names;

    private readonly SimulatedDisk _disk = new();

    public NumberRangeTests() => _disk.CreateDirectory(Names.Directory);

    [Theory]
    [InlineData(ManifestFileKind.Base)]
    [InlineData(ManifestFileKind.Increment)]
    [InlineData(ManifestFileKind.History)]
    public void AManifestWithoutRoomIsRefused(ManifestFileKind kind)
    {
        Put(Names.Manifest, $"file {Names.Increment(1)} seq 1 type i\nfile a seq {long.MaxValue} type {(char)kind}\n");
        Put(Names.Increment(1), "");
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out var error));
        Assert.Contains("A sequence number is out of range (line 2 of the manifest)", error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void AFileWithoutRoomThatNoManifestNamesIsRefused(bool hasManifest)
    {
        if (hasManifest) Put(Names.Manifest, $"file {Names.Increment(1)} seq 1 type i\n");
        Put(Names.Increment(1), "");
        Put(Names.Increment(long.MaxValue), "");
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out var error));
        Assert.Contains(Names.Increment(long.MaxValue), error, StringComparison.Ordinal);
        Assert.Equal(!hasManifest, !error.Contains("is out of range", StringComparison.Ordinal));
    }

    /// <summary>The last number is valid. The next write fails, and no manifest is written that a start refuses.</summary>
    [Fact]
    public void TheLastNumberIsNotExceeded()
    {
        Put(Names.Manifest, $"file {Names.Increment(Manifest.MaxSequence)} seq {Manifest.MaxSequence} type i\n");
        Put(Names.Increment(Manifest.MaxSequence), "");
        byte[] before = _disk[Names.PathOf(Names.Manifest)];
        using var directory = JournalDirectory.TryOpen(_disk, Names, out var error);
        Assert.True(directory is not null, error);
        Assert.Throws<IOException>(() => directory.TakeIncrementSequence());
        Assert.Equal(1, directory.TakeBaseSequence());
        Assert.Equal(before, _disk[Names.PathOf(Names.Manifest)]);
    }

    [Theory]
    [InlineData(long.MaxValue)]
    [InlineData(long.MaxValue - 5)]
    [InlineData(StreamState.MaxLsn + 1)]
    public void AGroupWithoutRoomIsRefused(long lsn)
    {
        Put(Names.Manifest, $"file {Names.Increment(1)} seq 1 type i\n");
        IncrementFile.Create(_disk, Names.PathOf(Names.Increment(1)), lsn, new WriterTuning()).Dispose();
        AssertRefused();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void ABaseWithoutRoomIsRefused(bool rdb)
    {
        Put(Names.Manifest, $"file {Names.Base(1, rdb)} seq 1 type b\n");
        _disk[Names.PathOf(Names.Base(1, rdb))] = rdb ? OfflineTests.Base(long.MaxValue) : BasePosition.Line(long.MaxValue);
        AssertRefused();
    }

    private void AssertRefused()
    {
        JournalReport report = JournalTools.Verify(_disk, Names, new(), new StructureCheck());
        Assert.Equal(JournalOutcome.Refused, report.Outcome);
        Assert.Contains("is out of range", report.Reason, StringComparison.Ordinal);
    }

    private void Put(string name, string content) => _disk[Names.PathOf(name)] = Encoding.ASCII.GetBytes(content);
}
