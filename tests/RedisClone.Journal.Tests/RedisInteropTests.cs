using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;

namespace RedisClone.Journal.Tests;

/// <summary>
/// Moves the directory between this engine and the real redis-server, in both directions and without conversion.
/// </summary>
public sealed class RedisInteropTests
{
    [Fact]
    public void RedisLoadsOurFilesAndWeLoadItsAppends()
    {
        using var directory = new TemporaryDirectory();
        var names = new JournalNames(directory.Path);
        var values = Write(names, FlushPolicy.Always, 0, 200);
        CheckAof(names);

        using (var redis = RedisProcess.Start(directory.Path, "--appendonly", "yes", "--aof-timestamp-enabled", "yes"))
        {
            CheckValues(redis, values);
            redis.Command("SET", "from-redis", "#RC1 lsn=1 durable=1 len=1 crc=00000000 chk=00000000\r\n");
            redis.Command("MULTI");
            redis.Command("INCR", "n");
            redis.Command("INCR", "n");
            redis.Command("EXEC");
            redis.Shutdown();
        }

        var report = Read(names, out var found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        Assert.Equal(values.Count, found.Verified);
        Assert.Equal(values.Count + 2, found.Units.Count);

        // The next increment follows the commands that Redis wrote.
        Write(names, FlushPolicy.EverySecond, 1000, 50);
        CheckAof(names);
        report = Read(names, out found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        Assert.Equal(values.Count + 2 + 50, found.Units.Count);
        using (var redis = RedisProcess.Start(directory.Path, "--appendonly", "yes"))
            Assert.Equal("2", redis.Command("GET", "n"));
    }

    [Fact]
    public void RedisLoadsTheFilesOfARunningJournal()
    {
        using var directory = new TemporaryDirectory();
        using var copy = new TemporaryDirectory();
        var names = new JournalNames(directory.Path, FileName: "with space.aof");
        var copyNames = names with { Root = copy.Path };
        using (var journal = Open(names, FlushPolicy.Always))
        {
            var values = Append(journal.Engine, journal.Observer, 0, 60);
            Directory.CreateDirectory(copyNames.Directory);
            var files = Directory.GetFiles(names.Directory).Where(f => !f.EndsWith(names.Lock, StringComparison.Ordinal));
            foreach (var file in files)
                File.Copy(file, copyNames.PathOf(Path.GetFileName(file)));
            Assert.True(
                new FileInfo(copyNames.PathOf(copyNames.Increment(1))).Length % 512 == FillMark.Length,
                "there is padding to be loaded");
            CheckAof(copyNames);
            using var redis = RedisProcess.Start(copy.Path, "--appendonly", "yes", "--appendfilename", "with space.aof");
            CheckValues(redis, values);
            redis.Command("SET", "from-redis", "x");
            redis.Shutdown();
        }
        var report = Read(copyNames, out var found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        Assert.Equal(61, found.Units.Count);
        Assert.Equal(60, found.Verified);
    }

    /// <summary>
    /// A kill interrupted a group. Redis cut it after its last whole command and appended to the file.
    /// </summary>
    [Theory]
    [InlineData(10, 30)]
    [InlineData(2000, 24)]
    [InlineData(-40, 21)]
    public void CommandsThatRedisAppendedAfterCuttingAGroupAreLoaded(int cut, int expected)
    {
        using var directory = new TemporaryDirectory();
        var names = new JournalNames(directory.Path);
        Write(names, FlushPolicy.No, 0, 20);
        using (var journal = Open(names, FlushPolicy.No))
        {
            // One group of ten units.
            for (var i = 0; i < 10; i++) journal.Engine.Append(i % 2, Units.Command("SET", "key" + i, new string('v', i * 40)));
            journal.Engine.RoundEnding(0);
        }
        var path = names.PathOf(names.Increment(2));
        var bytes = File.ReadAllBytes(path);

        // Removes the seal and either the last bytes of the group or all but its first bytes.
        var seal = bytes.AsSpan().LastIndexOf("#RC1 "u8);
        var group = bytes.AsSpan(0, seal).LastIndexOf("#RC1 "u8);
        File.WriteAllBytes(path, bytes[..(cut > 0 ? seal - cut : group - cut)]);
        Assert.Equal(JournalOutcome.Cut, Read(names, out _).Outcome);
        using (var redis = RedisProcess.Start(directory.Path, "--appendonly", "yes"))
        {
            redis.Command("SET", "from-redis", "x");
            redis.Shutdown();
        }
        var report = Read(names, out var found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        Assert.Equal(expected, found.Units.Count);
        Assert.Equal(Units.Command("SET", "from-redis", "x"), found.Units[^1].Bytes);
    }

    [Fact]
    public void ADirectoryOfRedisIsAdopted()
    {
        using var directory = new TemporaryDirectory();
        var names = new JournalNames(directory.Path);
        using (var redis = RedisProcess.Start(directory.Path, "--appendonly", "yes", "--aof-use-rdb-preamble", "no"))
        {
            for (var i = 0; i < 20; i++) redis.Command("SET", "k" + i, new string('v', i));
            redis.Shutdown();
        }
        Assert.Equal(JournalOutcome.Clean, Read(names, out var found).Outcome);
        Assert.Equal(20, found.Units.Count);

        // A server that only reads changes nothing. With the first write the file becomes a file of this server.
        var path = names.PathOf(names.Increment(1));
        var before = File.ReadAllBytes(path);
        Open(names, FlushPolicy.Always).Dispose();
        Assert.Equal(before, File.ReadAllBytes(path));
        var values = Write(names, FlushPolicy.Always, 100, 10);
        CheckAof(names);
        Assert.Equal(JournalOutcome.Clean, Read(names, out found).Outcome);
        Assert.Equal((30, 30), (found.Units.Count, found.Verified));
        var adopted = File.ReadAllBytes(path);
        File.WriteAllBytes(path, []);
        Assert.Equal(JournalOutcome.Refused, Read(names, out _).Outcome);
        File.WriteAllBytes(path, adopted);
        using (var redis = RedisProcess.Start(directory.Path, "--appendonly", "yes"))
        {
            CheckValues(redis, values);
            Assert.Equal("vvv", redis.Command("GET", "k3"));
        }
    }

    /// <summary>redis-server creates an increment before it has a command to write.</summary>
    [Fact]
    public void AnEmptyIncrementOfRedisIsNoDamage()
    {
        using var directory = new TemporaryDirectory();
        var names = new JournalNames(directory.Path);
        Write(names, FlushPolicy.Always, 0, 10);
        using (var redis = RedisProcess.Start(directory.Path, "--appendonly", "yes"))
        {
            redis.Command("BGREWRITEAOF");
            while (!redis.Command("INFO", "persistence").Contains("aof_rewrite_in_progress:0", StringComparison.Ordinal)
                || !File.ReadAllText(names.PathOf(names.Manifest)).Contains("base", StringComparison.Ordinal)) Thread.Sleep(20);
            redis.Shutdown();
        }
        Assert.Equal(0, new FileInfo(Directory.GetFiles(names.Directory, "*.incr.aof").Single()).Length);
        var report = JournalTools.Verify(RealDisk.Instance, names, new(), new StructureCheck());
        Assert.True(report.Outcome == JournalOutcome.Clean, report.ToString());
    }

    private static OpenJournal Open(JournalNames names, FlushPolicy policy)
    {
        var observer = new ManualObserver();
        var directory = JournalDirectory.TryOpen(RealDisk.Instance, names, out var error);
        Assert.True(directory is not null, error);
        var report = new JournalReader(RealDisk.Instance, names, directory.Manifest, new()).Read(new Collector());
        var journal = new JournalEngine(1, policy, observer);
        Assert.Null(journal.Start(directory, report));
        return new(journal, directory, observer);
    }

    private sealed record OpenJournal(JournalEngine Engine, JournalDirectory Directory, ManualObserver Observer) : IDisposable
    {
        public void Dispose()
        {
            Engine.Dispose();
            Directory.Dispose();
        }
    }

    private static Dictionary<(int Database, string Key), string> Write(
        JournalNames names, FlushPolicy policy, int first, int count)
    {
        using var journal = Open(names, policy);
        return Append(journal.Engine, journal.Observer, first, count);
    }

    private static Dictionary<(int Database, string Key), string> Append(
        JournalEngine journal, ManualObserver observer, int first, int count)
    {
        var values = new Dictionary<(int, string), string>();
        for (var i = first; i < first + count; i++)
        {
            var value = i % 3 == 0
                ? "#RC1 lsn=0 durable=9 len=0 crc=00000000 chk=00000000\r\n"
                : new string((char)('a' + i % 26), i);
            journal.RoundStarting(0);
            var lsn = journal.Append(i % 2, Units.Command("SET", "key" + i, value));
            journal.RoundEnding(0);
            if (journal.Policy == FlushPolicy.Always && i % 7 == 0) Assert.True(observer.WaitFor(lsn));
            values[(i % 2, "key" + i)] = value;
        }
        if (journal.Policy == FlushPolicy.Always) Assert.True(journal.Flush());
        return values;
    }

    private static JournalReport Read(JournalNames names, out Collector found)
    {
        found = new();
        Assert.True(JournalDirectory.TryReadManifest(RealDisk.Instance, names, out var manifest, out _));
        return new JournalReader(RealDisk.Instance, names, manifest, new()).Read(found);
    }

    private static void CheckAof(JournalNames names)
    {
        var (exit, output) = RedisProcess.Tool("redis-check-aof", names.PathOf(names.Manifest));
        Assert.True(exit == 0 && output.Contains("All AOF files and manifest are valid", StringComparison.Ordinal), output);
    }

    private static void CheckValues(RedisProcess redis, Dictionary<(int Database, string Key), string> values)
    {
        foreach (var database in values.Select(v => v.Key.Database).Distinct())
        {
            redis.Command("SELECT", database.ToString(null, null));
            foreach (var ((_, key), value) in values.Where(v => v.Key.Database == database))
                Assert.Equal(value, redis.Command("GET", key));
        }
        redis.Command("SELECT", "0");
    }
}
