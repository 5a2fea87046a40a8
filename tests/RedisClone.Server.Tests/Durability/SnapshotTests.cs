using System.Globalization;
using System.Text;
using RedisClone.Admin.Commands;
using RedisClone.Configuration;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Tests.Commands;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Durability;

/// <summary>The dump file: all data is restored, a damaged file is refused, and a failed save keeps the old file.</summary>
public sealed class SnapshotTests(ITestOutputHelper output) : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-snapshot-").FullName;

    private string Dump => Path.Combine(_folder, "dump.rdb");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void SavedDataIsRestored()
    {
        CommandHost saved = Host();
        SampleData.Fill(saved);
        Assert.True(saved.Core.Snapshots.ChangesSinceSave > 0);
        Assert.Equal("OK", saved.Run("SAVE"));
        Assert.Equal(0, saved.Core.Snapshots.ChangesSinceSave);
        CommandHost loaded = Host();
        Assert.Null(loaded.Core.Snapshots.Load());
        Assert.Equal(SampleData.Keys.Length, loaded.Core.Snapshots.KeysLoaded);
        Assert.Equal(KeyspaceDigest.OfAll(saved.Core), KeyspaceDigest.OfAll(loaded.Core));
        foreach (string key in SampleData.Keys) Assert.Equal(saved.EncodingOf(key), loaded.EncodingOf(key));
        Assert.Equal("4000000000000", loaded.Run("PEXPIRETIME text"));
    }

    [Fact]
    public void ExpiredKeysAreNotLoaded()
    {
        CommandHost saved = Host();
        saved.Now = 1000;
        saved.Run("SET gone 1 PXAT 2000");
        saved.Run("SET stays 1");
        Assert.Equal("OK", saved.Run("SAVE"));
        CommandHost loaded = Host();
        Assert.Null(loaded.Core.Snapshots.Load());
        Assert.Equal("[stays]", loaded.Run("KEYS *"));
        Assert.Equal(1, loaded.Core.Snapshots.KeysExpired);
    }

    [Fact]
    public void AReloadKeepsAllData()
    {
        CommandHost host = Host();
        SampleData.Fill(host);
        byte[] digest = KeyspaceDigest.OfAll(host.Core);
        Assert.Equal("OK", host.Run("DEBUG RELOAD"));
        Assert.Equal(digest, KeyspaceDigest.OfAll(host.Core));
    }

    /// <summary>
    /// A large sorted set distinguishes -0 from 0 before and after a reload. A small one does not. A set that becomes small in
    /// the reload loses the difference.
    /// </summary>
    [Fact]
    public void NegativeZeroIsRestored()
    {
        CommandHost host = Host();
        string longName = new('x', 80);
        host.Run("ZADD small -0 m");
        host.Run($"ZADD large 1 {longName}");
        host.Run("ZADD large -0 m -0 n 0 o 5 10 -7 -7");
        for (int i = 0; i < 30; i++) host.Run($"ZADD large -0 other{i}");
        host.Run($"ZADD few 1 {longName} -0 m 5 10 0.5 member");
        host.Run($"ZREM few {longName}");
        foreach (string expected in (string[])["-0", "0"])
        {
            Assert.Equal("0", host.Run("ZSCORE small m"));
            Assert.Equal("-0", host.Run("ZSCORE large m"));
            Assert.Equal("-0", host.Run("ZSCORE large n"));
            for (int i = 0; i < 30; i++) Assert.Equal("-0", host.Run($"ZSCORE large other{i}"));
            Assert.Equal("0", host.Run("ZSCORE large o"));
            Assert.Equal(expected, host.Run("ZSCORE few m"));
            Assert.Equal(expected == "0" ? "listpack" : "skiplist", host.Run("OBJECT ENCODING few"));
            Assert.Equal("5", host.Run("ZSCORE few 10"));
            Assert.Equal("1", host.Run("ZRANK few member"));
            Assert.Equal("OK", host.Run("DEBUG RELOAD"));
        }
    }

    /// <summary>
    /// Several threads read the short values. Values longer than the buffer of the reader are read directly from the file.
    /// </summary>
    [Fact]
    public void ValuesOfEverySizeAreRestored()
    {
        var random = Seed.Random(output);
        CommandHost saved = Host();
        for (int i = 0; i < 400; i++)
        {
            int size = i % 40 == 0 ? random.Next(200_000, 600_000) : random.Next(3000);
            saved.Run($"SET s{i} {Word(size)}");
            saved.Run($"RPUSH l{i} {Word(random.Next(300))} {Word(size)} {i}");
            saved.Run($"HSET h{i} field {Word(size)} other {i}");
            saved.Run($"XADD x{i} 5-{i} field {Word(size)}");
        }
        saved.Run("SELECT 3");
        saved.Run("SET elsewhere 1");
        Assert.Equal("OK", saved.Run("SAVE"));
        CommandHost loaded = Host();
        Assert.Null(loaded.Core.Snapshots.Load());
        Assert.Equal(1601, loaded.Core.Snapshots.KeysLoaded);
        Assert.Equal(KeyspaceDigest.OfAll(saved.Core), KeyspaceDigest.OfAll(loaded.Core));

        string Word(int length) => string.Create(length + 1, random, static (word, random) =>
        {
            for (int i = 0; i < word.Length; i++) word[i] = (char)('a' + random.Next(26));
        });
    }

    /// <summary>The error names the first damage in the file, independent of the thread that finds it.</summary>
    [Fact]
    public void TheFirstDamageIsNamed()
    {
        var random = Seed.Random(output);
        for (int run = 0; run < 20; run++)
        {
            int[] twice = [.. Enumerable.Range(0, 5).Select(_ => random.Next(2000))];
            var target = new RdbMemoryTarget();
            var writer = new RdbWriter(target);
            long from = 0, to = 0;
            writer.Header(RdbVersion.Redis70);
            for (int i = 0; i < 3000; i++)
            {
                writer.Flush();
                if (i == twice.Min() + 1000) from = target.Bytes.Length;
                if (i == twice.Min() + 1001) to = target.Bytes.Length;
                writer.Type(RdbType.String);
                writer.String(Encoding.ASCII.GetBytes($"key {(twice.Contains(i - 1000) ? i - 1000 : i)}"));
                writer.String("value"u8);
            }
            writer.End();
            File.WriteAllBytes(Dump, target.Bytes.ToArray());
            string refusal = Host().Core.Snapshots.Load() ?? "";
            Assert.Contains("a key is there twice", refusal, StringComparison.Ordinal);
            string offset = refusal[(refusal.IndexOf("offset ", StringComparison.Ordinal) + 7)..refusal.IndexOf(')', StringComparison.Ordinal)];
            Assert.InRange(long.Parse(offset, CultureInfo.InvariantCulture), from + 1, to);
        }
    }

    [Fact]
    public void ATruncatedOrChangedFileIsRefused()
    {
        CommandHost saved = Host();
        saved.Run("SET key value");
        saved.Run("ZADD zset 1.5 a 2 b");
        saved.Run("SAVE");
        byte[] bytes = File.ReadAllBytes(Dump);
        for (int length = 0; length < bytes.Length; length++)
        {
            File.WriteAllBytes(Dump, bytes.AsSpan(0, length));
            Assert.NotNull(Host().Core.Snapshots.Load());
        }
        for (int at = 0; at < bytes.Length - 8; at++)
        {
            byte[] changed = [.. bytes];
            changed[at] ^= 1;
            File.WriteAllBytes(Dump, changed);
            Assert.NotNull(Host().Core.Snapshots.Load());
        }
    }

    [Fact]
    public void AnInvalidDatabaseNumberIsRefused()
    {
        CommandHost saved = Host();
        saved.Run("SELECT 9");
        saved.Run("SET key value");
        saved.Run("SAVE");
        var small = new CommandHost(config => (config.Dir, config.DbFilename, config.Databases) = (_folder, "dump.rdb", 4));
        Assert.Contains("more than 4 databases", small.Core.Snapshots.Load(), StringComparison.Ordinal);
    }

    [Fact]
    public void AFailedSaveIsReportedAndRefusesNoWrites()
    {
        var host = new CommandHost(config =>
            (config.Dir, config.DbFilename, config.SavePoints) = (Path.Combine(_folder, "missing"), "dump.rdb", [new(3600, 1)]));
        Assert.StartsWith("ERR ", host.Run("SAVE"), StringComparison.Ordinal);
        Assert.False(host.Core.Snapshots.SaveAtShutdown(ShutdownOptions.Save));
        Assert.Equal("OK", host.Run("FLUSHALL"));
        Assert.Null(host.Core.Snapshots.Failure);
        Assert.False(host.Core.Snapshots.RefusesWrites);
        Assert.Equal(0, host.Core.Snapshots.Saves);
    }

    /// <summary>An open of a FIFO for reading blocks until another process opens it for writing.</summary>
    [Theory]
    [InlineData("fifo")]
    [InlineData("device")]
    [InlineData("directory")]
    public async Task ASnapshotThatIsNotARegularFileIsRefused(string kind)
    {
        string path = Path.Combine(_folder, "dump.rdb");
        if (kind == "directory") Directory.CreateDirectory(path);
        else if (kind == "device") File.CreateSymbolicLink(path, "/dev/zero");
        else if (!OperatingSystem.IsLinux()) return;
        else SpecialFile.MakeFifo(path);
        CommandHost host = Host();
        string? refusal = await Task.Run(() => host.Core.Snapshots.Load()).WaitAsync(TimeSpan.FromSeconds(60));
        Assert.StartsWith("The snapshot dump.rdb cannot be read: ", refusal, StringComparison.Ordinal);
        Assert.Contains(kind == "directory" ? "is a directory" : "is not a regular file", refusal, StringComparison.Ordinal);
    }

    [Fact]
    public async Task ALibraryThatDoesNotEndIsRefused()
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        writer.Header(RdbVersion.Redis70);
        writer.Function("#!lua name=c\nwhile true do end"u8);
        writer.End();
        File.WriteAllBytes(Path.Combine(_folder, "dump.rdb"), target.Bytes.ToArray());
        CommandHost host = Host();
        string? refusal = await Task.Run(() => host.Core.Snapshots.Load()).WaitAsync(TimeSpan.FromSeconds(60));
        Assert.Matches("^The snapshot dump.rdb cannot be loaded: .*FUNCTION LOAD timeout", refusal);
    }

    private CommandHost Host() => new(config => (config.Dir, config.DbFilename, config.RdbCompression, config.RdbChecksum) = (_folder, "dump.rdb", true, true));
}
