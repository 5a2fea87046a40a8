using System.Text;
using RedisClone.Admin.Commands;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Failures;
using RedisClone.Journal.Format;
using RedisClone.Journal.Rdb;
using RedisClone.Journal.Reading;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A load without memory for a while. It releases the reserve of the process, so other tests do not run beside it.</summary>
[Collection(nameof(Fatal))]
public sealed class LoadFailureTests
{
    /// <summary>A key for which one of its allocations fails is built again.</summary>
    [Fact]
    public void ALoadSurvivesFailedAllocations()
    {
        if (!FaultPoint.Exist) return;
        var host = new CommandHost();
        SampleData.Fill(host);
        byte[] digest = KeyspaceDigest.OfAll(host.Core);
        int faults = 0;
        foreach (byte[] name in SampleData.Keys.Select(Encoding.ASCII.GetBytes))
        {
            ulong hash = host.Core.Shards.HashOf(name);
            Entry entry = host.Core.Shards.Of(hash).Store.Database(0).Find(name, hash);
            byte[] payload = DumpCommands.PayloadOf(entry)!;
            const int footer = 10;
            long expiry = entry.Expiry == 0 ? -1 : entry.Expiry;
            var batch = new SnapshotBatch();
            batch.Add(new RdbKey { Database = 0, Name = name, ExpireMilliseconds = expiry, IdleSeconds = -1, Frequency = -1 },
                hash, (RdbType)payload[0], payload.AsSpan(1..^footer), offset: 0);
            bool thrown = true;
            for (int nth = 1; thrown; nth += 1 + nth / 4)
            {
                var builder = new SnapshotBuilder(host.Core, host.Now, replace: true, stores: null);
                FaultPoint.Arm(nth);
                string? failure = builder.Run(batch);
                thrown = FaultPoint.Disarm();
                if (thrown) faults++;
                Assert.Null(failure);
                Assert.Equal(digest, KeyspaceDigest.OfAll(host.Core));
            }
        }
        Assert.True(faults >= SampleData.Keys.Length, $"{faults} faults");
    }

    /// <summary>A RESTORE of the journal for which an allocation fails runs again, without what the first attempt has built.</summary>
    [Fact]
    public void AReplaySurvivesFailedAllocations()
    {
        if (!FaultPoint.Exist) return;
        var host = new CommandHost();
        SampleData.Fill(host);
        byte[] digest = KeyspaceDigest.OfAll(host.Core);
        using var loader = new JournalLoader(host.Core);
        var run = new ReplayRun(host.Core, loader);
        int faults = 0;
        foreach (byte[] name in SampleData.Keys.Select(Encoding.ASCII.GetBytes))
        {
            ulong hash = host.Core.Shards.HashOf(name);
            Entry entry = host.Core.Shards.Of(hash).Store.Database(0).Find(name, hash);
            var bytes = new List<byte>();
            var words = new List<JournalWord>();
            byte[] expiry = Encoding.ASCII.GetBytes($"{entry.Expiry}");
            foreach (byte[] word in new[] { "RESTORE"u8.ToArray(), name, expiry, DumpCommands.PayloadOf(entry)!, "REPLACE"u8.ToArray(), "ABSTTL"u8.ToArray() })
            {
                words.Add(new JournalWord(bytes.Count, word.Length));
                bytes.AddRange(word);
            }
            bool thrown = true;
            for (int nth = 1; thrown; nth += 1 + nth / 4)
            {
                var batch = new ReplayBatch();
                batch.Add(new JournalCommand { Bytes = bytes.ToArray(), Words = words.ToArray(), Database = 0 }, host.Core.Commands.Find("RESTORE"u8)!, hash);
                FaultPoint.Arm(nth);
                string? failure = run.Run(batch);
                thrown = FaultPoint.Disarm();
                if (thrown) faults++;
                Assert.True(failure is null, $"{Encoding.ASCII.GetString(name)}, fault {nth}: {failure}");
                Assert.Equal(0, loader.Errors.Count);
                Assert.Equal(digest, KeyspaceDigest.OfAll(host.Core));
            }
        }
        Assert.True(faults >= SampleData.Keys.Length, $"{faults} faults");
    }
}
