using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal.Tests;

/// <summary>
/// Tests bases and increments without a manifest. No server starts with them, and repair rebuilds the manifest if it is
/// unambiguous.
/// </summary>
public sealed class LostManifestTests
{
    private static readonly JournalNames Names = JournalRun.Names;
    private static readonly JournalNames Copy = Names with { Root = "/copy" };

    private readonly SimulatedDisk _disk = new();

    [Fact]
    public void AStartIsRefusedWithTheNamesOfTheFiles()
    {
        Write(rewrites: 1);
        _disk.Remove(Path(Names.Manifest));
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out var error));
        Assert.Contains($"has {Names.Base(1, rdb: true)}, {Names.Increment(2)} and no {Names.Manifest}", error,
            StringComparison.Ordinal);
        var report = JournalTools.Verify(_disk, Names, new(), new StructureCheck());
        Assert.Equal(JournalOutcome.Refused, report.Outcome);
        Assert.Contains(Names.Increment(2), report.Reason, StringComparison.Ordinal);
    }

    [Fact]
    public void AManifestThatNamesNoFileIsRefusedBesideFiles()
    {
        Write(rewrites: 1);
        _disk[Path(Names.Manifest)] = "# nothing\n"u8.ToArray();
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out var error));
        Assert.Contains($"{Names.Manifest}: it names no file. ", error, StringComparison.Ordinal);
        Assert.Contains(Names.Base(1, rdb: true), error, StringComparison.Ordinal);
        Assert.Equal(JournalOutcome.Refused, JournalTools.Verify(_disk, Names, new(), new StructureCheck()).Outcome);
        // Without files there is nothing to lose.
        foreach (var file in LostManifest.FilesOf(_disk, Names)) _disk.Remove(Path(file.Name));
        using var directory = JournalDirectory.TryOpen(_disk, Names, out error);
        Assert.True(directory is not null, error);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void NothingReplacesTheIncrementsThatAnOlderManifestDoesNotName(bool hasNoIncrement)
    {
        Write(rewrites: 1);
        var older = _disk[Path(Names.Manifest)];
        if (hasNoIncrement)
        {
            var lines = System.Text.Encoding.ASCII.GetString(older).Split('\n');
            var bases = lines.Where(line => !line.Contains(" type i", StringComparison.Ordinal));
            older = System.Text.Encoding.ASCII.GetBytes(string.Join('\n', bases));
        }
        else
        {
            Write(rewrites: 0);
        }
        _disk[Path(Names.Manifest)] = older;
        var newest = LostManifest.FilesOf(_disk, Names)[^1].Name;
        var content = _disk[Path(newest)];
        using (var directory = JournalDirectory.TryOpen(_disk, Names, out _)!) Assert.Contains(newest, directory.Unnamed);
        var report = JournalTools.Verify(_disk, Names, new(), new StructureCheck());
        Assert.Contains(newest, report.Unnamed);
        Assert.False(report.IsComplete);
        report = JournalTools.Repair(_disk, Names, Copy);
        Assert.Contains(newest, report.Unnamed);
        Assert.False(report.IsComplete);
        Write(rewrites: 0);
        Write(rewrites: 1);
        Assert.Equal(content, _disk[Path(newest)]);
    }

    /// <summary>A copy without any data would pass for a repaired journal.</summary>
    [Fact]
    public void AJournalWhoseManifestLacksTheBaseIsNotCopied()
    {
        Write(rewrites: 1);
        var lines = System.Text.Encoding.ASCII.GetString(_disk[Path(Names.Manifest)]).Split('\n');
        var increments = lines.Where(line => !line.EndsWith(" type b", StringComparison.Ordinal));
        _disk[Path(Names.Manifest)] = System.Text.Encoding.ASCII.GetBytes(string.Join('\n', increments));
        AssertNoRepair("there is no base, and nothing of the increments can be read");
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(3)]
    public void TheManifestIsRebuiltInACopy(int rewrites)
    {
        var units = Write(rewrites);
        _disk.Remove(Path(Names.Manifest));
        var report = JournalTools.Repair(_disk, Names, Copy);
        Assert.Equal((JournalOutcome.Clean, true), (report.Outcome, report.MadeManifest));
        Assert.Equal(units, JournalTools.Verify(_disk, Copy, new(), new StructureCheck()).Units);
        Assert.Contains("The manifest was missing", report.ToString(), StringComparison.Ordinal);
    }

    /// <summary>
    /// A crash after the replacement of the manifest leaves the superseded files. A crash before it leaves a base that
    /// the manifest does not name.
    /// </summary>
    [Fact]
    public void FilesThatABaseReplacedAreLeftOut()
    {
        Write(rewrites: 1);
        var before = _disk.List(Names.Directory).ToDictionary(name => name, name => _disk[Path(name)]);
        var units = Write(rewrites: 1);
        foreach (var (name, bytes) in before)
            if (!_disk.Exists(Path(name))) _disk[Path(name)] = bytes;
        _disk.Remove(Path(Names.Manifest));
        Assert.True(LostManifest.FilesOf(_disk, Names).Count >= 4);
        Assert.Equal(JournalOutcome.Clean, JournalTools.Repair(_disk, Names, Copy).Outcome);
        Assert.Equal(units, JournalTools.Verify(_disk, Copy, new(), new StructureCheck()).Units);
    }

    [Fact]
    public void AMissingBaseIsRefused()
    {
        Write(rewrites: 1);
        _disk.Remove(Path(Names.Manifest));
        _disk.Remove(Path(Names.Base(1, rdb: true)));
        AssertNoRepair("there is no base");
    }

    [Fact]
    public void AMissingIncrementIsRefused()
    {
        Write(rewrites: 1, increments: 3);
        _disk.Remove(Path(Names.Manifest));
        _disk.Remove(Path(Names.Increment(3)));
        AssertNoRepair("the one that the names suggest does not load");
    }

    [Fact]
    public void AnIncrementOfAnotherServerIsRefused()
    {
        Write(rewrites: 1);
        var other = new SimulatedDisk();
        Write(other, rewrites: 1, increments: 1, first: "longer than that of the first");
        _disk[Path(Names.Increment(2))] = other[Path(Names.Increment(2))];
        Assert.Equal(JournalOutcome.Refused, JournalTools.Verify(_disk, Names, new(), new StructureCheck()).Outcome);
        _disk.Remove(Path(Names.Manifest));
        AssertNoRepair("does not load");
    }

    [Theory]
    [InlineData("1b 1i", true)]
    [InlineData("1b 1i 2i 3i", true)]
    [InlineData("3b 5i", true)]
    [InlineData("1b 1i 3i", false)]
    [InlineData("1b 2b 1i 2i", false)]
    [InlineData("1i 2i", false)]
    public void FilesOfRedisAreRepairedIfTheirOrderIsCertain(string files, bool isCertain)
    {
        _disk.CreateDirectory(Names.Directory);
        foreach (var file in files.Split(' '))
        {
            var sequence = file[0] - '0';
            var name = file[1] == 'b' ? Names.Base(sequence, rdb: false) : Names.Increment(sequence);
            _disk[Path(name)] = [.. Units.Command("SET", file, "x")];
        }
        var report = JournalTools.Repair(_disk, Names, Copy);
        Assert.Equal(isCertain, report.Outcome == JournalOutcome.Clean);
        if (isCertain) Assert.Equal(files.Split(' ').Length, report.Units);
    }

    /// <summary>
    /// Files that belong to no journal, an empty manifest, a manifest that is a directory, and remains of a crash.
    /// </summary>
    [Fact]
    public void OtherFilesDoNotHideALostManifest()
    {
        Write(rewrites: 1);
        _disk[Path(Names.TemporaryManifest)] = "file x seq 1 type i\n"u8.ToArray();
        _disk[Path(Names.TemporaryBase)] = [1];
        Assert.Equal(JournalOutcome.Clean, JournalTools.Verify(_disk, Names, new(), new StructureCheck()).Outcome);
        _disk[Path(Names.Manifest)] = [];
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out var error));
        Assert.Contains("Found an empty AOF manifest", error, StringComparison.Ordinal);
        _disk.Remove(Path(Names.Manifest));
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out error));
        Assert.Contains("no " + Names.Manifest, error, StringComparison.Ordinal);
        var another = Names with { FileName = "another.aof" };
        using var empty = JournalDirectory.TryOpen(_disk, another, out error);
        Assert.True(empty!.Manifest.IsEmpty, error);
    }

    [Fact]
    public void AFirstManifestThatACrashLeftUnrenamedIsUsed()
    {
        var units = Write(rewrites: 1);
        _disk[Path(Names.TemporaryManifest)] = _disk[Path(Names.Manifest)];
        _disk.Remove(Path(Names.Manifest));
        Assert.Equal(units, JournalTools.Verify(_disk, Names, new(), new StructureCheck()).Units);
        using var directory = JournalDirectory.TryOpen(_disk, Names, out var error);
        Assert.False(directory!.Manifest.IsEmpty, error);
        Assert.True(_disk.Exists(Path(Names.Manifest)));
    }

    /// <summary>
    /// The files of a rebuilt journal are renamed one by one, and a crash may occur between the renames.
    /// </summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void RenamesInterruptedByACrashAreCompleted(bool isBaseRenamed)
    {
        Rebuild(_disk);
        Move(Names.Manifest, Names.TemporaryManifest);
        if (isBaseRenamed) Move(Names.Increment(1), Names.TemporaryIncrement);
        else Move(Names.Base(1, rdb: true), Names.TemporaryBase);
        AssertNoRepair("a start of the server completes the journal");
        using (var directory = JournalDirectory.TryOpen(_disk, Names, out var error))
            Assert.False(directory?.Manifest.IsEmpty ?? true, error);
        var report = JournalTools.Verify(_disk, Names, new(), new StructureCheck());
        Assert.Equal((JournalOutcome.Clean, 1), (report.Outcome, report.Units));
    }

    [Fact]
    public void RenamesAreNotCompletedIfAFileIsMissing()
    {
        Rebuild(_disk);
        Move(Names.Manifest, Names.TemporaryManifest);
        var increment = _disk[Path(Names.Increment(1))];
        _disk.Remove(Path(Names.Increment(1)));
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out _));
        _disk[Path(Names.TemporaryIncrement)] = increment;
        _disk[Path(Names.Increment(7))] = increment;
        Assert.Null(JournalDirectory.TryOpen(_disk, Names, out _));
        Assert.True(_disk.Exists(Path(Names.TemporaryIncrement)));
    }

    [Fact]
    public void ACrashAnywhereInARebuildLeavesADirectoryThatOpens()
    {
        var whole = new SimulatedDisk();
        Rebuild(whole);
        for (var at = 1; at <= whole.Operations; at++)
        {
            for (var seed = 0; seed < 20; seed++)
            {
                var disk = new SimulatedDisk { PowerLossAt = at };
                try
                {
                    Rebuild(disk);
                }
                catch (IOException)
                {
                }
                var after = disk.Crash(new(seed));
                using var directory = JournalDirectory.TryOpen(after, Names, out var error);
                Assert.True(directory is not null, $"power loss at {at}, seed {seed}: {error}");
                var report = new JournalReader(after, Names, directory.Manifest, new()).Read(new StructureCheck());
                Assert.True(report.Outcome != JournalOutcome.Refused,
                    $"power loss at {at}, seed {seed}: {report}");
            }
        }
    }

    private void Move(string from, string to)
    {
        _disk[Path(to)] = _disk[Path(from)];
        _disk.Remove(Path(from));
    }

    /// <summary>Creates the first journal of a server that already has data.</summary>
    private static void Rebuild(SimulatedDisk disk)
    {
        var tuning = new WriterTuning { Salts = new(7) };
        var buffer = new MergeBuffer(tuning);
        var writer = new JournalWriter(buffer, tuning);
        using var directory = JournalDirectory.TryOpen(disk, Names, out var error) ?? throw new IOException(error);
        var position = writer.BeginRebuild(directory);
        using (var file = disk.Open(Path(Names.TemporaryBase), Disk.DiskOpen.New)) file.Write(0, OfflineTests.Base(position));
        buffer.Append(0, Units.Command("SET", "a", "1"));
        while (writer.WriteNext(fillAhead: true)) { }
        writer.InstallBase(position, rdb: true);
        writer.Stop();
    }

    private void AssertNoRepair(string reason)
    {
        var report = JournalTools.Repair(_disk, Names, Copy);
        Assert.Equal(JournalOutcome.Refused, report.Outcome);
        Assert.Contains(reason, report.Reason, StringComparison.Ordinal);
        Assert.False(_disk.DirectoryExists(Copy.Directory));
    }

    private static string Path(string name) => Names.PathOf(name);

    private int Write(int rewrites, int increments = 1) => Write(_disk, rewrites, increments, "a");

    /// <summary>
    /// Continues the existing journal and rewrites it. Returns the number of units after the last base.
    /// </summary>
    private static int Write(SimulatedDisk disk, int rewrites, int increments, string first)
    {
        var tuning = new WriterTuning { Salts = new(7) };
        var buffer = new MergeBuffer(tuning);
        var writer = new JournalWriter(buffer, tuning);
        using var directory = JournalDirectory.TryOpen(disk, Names, out _)!;
        writer.Start(directory, new JournalReader(disk, Names, directory.Manifest, new()).Read(new StructureCheck()));
        buffer.Append(0, Units.Command("SET", first, "1"));
        for (var i = 0; i < rewrites; i++)
        {
            var position = buffer.Switch();
            while (writer.WriteNext(fillAhead: true)) { }
            using (var file = disk.Open(Names.PathOf(Names.TemporaryBase), Disk.DiskOpen.New)) file.Write(0,
                OfflineTests.Base(position));
            writer.InstallBase(position, rdb: true);
            var history = writer.History;
            writer.DeleteFiles(history);
            writer.Forget(history);
            buffer.Append(0, Units.Command("SET", "b" + i, "2"));
        }
        for (var i = 1; i < increments; i++)
        {
            buffer.Switch();
            buffer.Append(0, Units.Command("SET", "c" + i, "3"));
        }
        while (writer.WriteNext(fillAhead: true)) { }
        writer.Stop();
        return increments;
    }
}
