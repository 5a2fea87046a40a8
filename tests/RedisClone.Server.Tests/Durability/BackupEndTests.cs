using RedisClone.Configuration;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Shards;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Durability;

/// <summary>The end of a backup: aborted while its snapshot waits for the shards, or sealed on a disk that fails.</summary>
public sealed class BackupEndTests
{
    [Fact]
    public async Task AnAbortedBackupReceivesNoEffects()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-backup-").FullName;
        await using (RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop, config => config.Dir = folder))
        {
            using TestClient client = server.Connect();
            Backups backups = server.Core.Backups;
            Shard shard = server.Core.Shards[0];
            Assert.Equal("OK", client.Run("MULTI"));
            Assert.Equal("QUEUED", client.Run("BACKUP START"));
            // A backup that begins in a transaction takes its snapshot later, and then waits for all shards.
            Assert.StartsWith("[", client.Run("EXEC"), StringComparison.Ordinal);
            SpinWait.SpinUntil(shard.TryEnter);
            bool waits = SpinWait.SpinUntil(() => backups.State != BackupState.Pending, TimeSpan.FromSeconds(30));
            string? refusal = backups.Abort();
            shard.Exit();
            Assert.True(waits);
            Assert.Null(refusal);
            Assert.Equal("OK", client.Run("BACKUP CLEANUP"));
            await client.UntilAsync("SAVE", static answer => answer == "OK");
            Assert.False(server.Core.Effects.Wanted);
            Assert.Equal("OK", client.Run("BACKUP START"));
            await client.UntilAsync("BACKUP STATUS", static answer => answer.Contains("incrementing", StringComparison.Ordinal));
            Assert.Equal("1", client.Run("RPUSH l x"));
            Assert.Equal("OK", client.Run("BACKUP SEAL"));
            string increments = string.Concat(Directory.GetFiles(folder, "*.incr.aof", SearchOption.AllDirectories).Select(File.ReadAllText));
            Assert.Single(increments.Split("RPUSH").Skip(1));
        }
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>The backup is complete, whatever happens to its lock file.</summary>
    [Fact]
    public async Task ABackupIsSealedIfItsLockFileStays()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-backup-").FullName;
        var disk = new WatchedDisk();
        await using (RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, config => config.Dir = folder, disk))
        {
            using TestClient client = server.Connect();
            Assert.Equal("OK", client.Run("BACKUP START"));
            await client.UntilAsync("BACKUP STATUS", static answer => answer.Contains("incrementing", StringComparison.Ordinal));
            disk.Faults = Faults.Delete;
            Assert.Equal("OK", client.Run("BACKUP SEAL"));
            disk.Faults = Faults.None;
            Assert.Contains("sealed", client.Run("BACKUP STATUS"), StringComparison.Ordinal);
            Assert.Equal("OK", client.Run("BACKUP CLEANUP"));
        }
        Directory.Delete(folder, recursive: true);
    }
}
