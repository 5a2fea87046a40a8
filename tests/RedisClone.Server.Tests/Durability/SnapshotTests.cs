using RedisClone.Server.Admin;
using RedisClone.Server.Durability;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Durability;

/// <summary>The dump file: all of it comes back, a damaged one is refused, and one that cannot be written leaves the old one.</summary>
public sealed class SnapshotTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-snapshot-").FullName;

    private string Dump => Path.Combine(_folder, "dump.rdb");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void WhatWasSavedComesBack()
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
    public void WhatHasExpiredIsLeftOut()
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
    public void AReloadKeepsAll()
    {
        CommandHost host = Host();
        SampleData.Fill(host);
        byte[] digest = KeyspaceDigest.OfAll(host.Core);
        Assert.Equal("OK", host.Run("DEBUG RELOAD"));
        Assert.Equal(digest, KeyspaceDigest.OfAll(host.Core));
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
    public void ADatabaseTooHighIsRefused()
    {
        CommandHost saved = Host();
        saved.Run("SELECT 9");
        saved.Run("SET key value");
        saved.Run("SAVE");
        var small = new CommandHost(config => (config.Dir, config.DbFilename, config.Databases) = (_folder, "dump.rdb", 4));
        Assert.Contains("more than 4 databases", small.Core.Snapshots.Load(), StringComparison.Ordinal);
    }

    [Fact]
    public void AFailedSaveIsSaidAndRemembered()
    {
        var host = new CommandHost(config => (config.Dir, config.DbFilename) = (Path.Combine(_folder, "missing"), "dump.rdb"));
        Assert.StartsWith("ERR ", host.Run("SAVE"), StringComparison.Ordinal);
        Assert.NotNull(host.Core.Snapshots.Failure);
        Assert.Equal(0, host.Core.Snapshots.Saves);
        Assert.False(host.Core.Snapshots.SaveAtShutdown(ShutdownOptions.Save));
    }

    private CommandHost Host() => new(config => (config.Dir, config.DbFilename, config.RdbCompression, config.RdbChecksum) = (_folder, "dump.rdb", true, true));
}
