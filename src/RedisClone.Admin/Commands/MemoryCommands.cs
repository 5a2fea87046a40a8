using System.Globalization;
using System.Text;
using RedisClone.Admin.Info;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>MEMORY: the memory usage of a key and of the server.</summary>
internal static class MemoryCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("MEMORY", -2, Keys.None, None, "server", "4.0.0", null, "Commands about memory.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("DOCTOR",
                    2, Keys.None, None, "server", "4.0.0", Doctor, "Reports problems with memory.")
                    { Tips = CommandTips.EachShard },
                new("MALLOC-STATS",
                    2, Keys.None, None, "server", "4.0.0", MallocStats, "Shows the statistics of the shards' arenas.")
                    { Complexity = "Depends on how much memory is allocated, could be slow", Tips = CommandTips.EachShard },
                new("PURGE",
                    2, Keys.None, AllShards | Long, "server", "4.0.0", Purge, "Returns free memory to the operating system.")
                    { Complexity = "Depends on how much memory is allocated, could be slow", Tips = CommandTips.AllShards },
                new("STATS",
                    2, Keys.None, None, "server", "4.0.0", Stats, "Returns how memory is used.") { Tips = CommandTips.EachShard },
                new("USAGE key [SAMPLES count]",
                    -3, Keys.At(2, KeyFlags.RO), ReadOnly, "server", "4.0.0", Usage,
                    "Returns the memory of a key and its value in bytes.")
                    { Complexity = "O(N) where N is the number of samples." },
                Help.Row("server", "4.0.0"),
            ],
        },
    ];

    /// <summary>Replies with the memory usage of a key. The result is exact, so SAMPLES has no effect.</summary>
    private static void Usage(ref CommandContext c)
    {
        for (int i = 3; i < c.Args.Count && !c.Failed; i += 2)
        {
            if (!c.Is(i, "samples"u8) || i + 1 == c.Args.Count) c.FailSyntax();
            else if (c.Int64(i + 1) < 0) c.FailSyntax();
        }
        if (c.Failed) return;
        Entry entry = c.Peek(2);
        if (ValueInfo.IsWalkedForUsage(entry) && c.MoveToWorker(long.MaxValue)) return;
        if (entry.Exists) c.Reply.Integer(ValueInfo.MemoryUsage(entry) + entry.Keyspace.IndexBytes / Math.Max(1, entry.Keyspace.Count));
        else c.Reply.Null();
    }

    private static void Purge(ref CommandContext c)
    {
        for (int i = 0; i < c.Server.Shards.Count; i++) c.Server.Shards[i].Store.Arena.TrimAll();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        c.Reply.Ok();
    }

    private static void MallocStats(ref CommandContext c)
    {
        var text = new StringBuilder("shard        used    reserved       taken     buffers\n");
        for (int i = 0; i < c.Server.Shards.Count; i++)
        {
            Storage.Memory.Arena arena = c.Server.Shards[i].Store.Arena;
            text.Append(CultureInfo.InvariantCulture, $"{i,5} {arena.BytesUsed,11} {arena.BytesReserved,11} {arena.BytesTaken,11} {arena.LiveBuffers,11}\n");
        }
        text.Append(CultureInfo.InvariantCulture, $"asked for as huge pages: {HugePages.Bytes}\n");
        c.Reply.Verbatim("txt"u8, Encoding.ASCII.GetBytes(text.ToString()));
    }

    private static void Doctor(ref CommandContext c) =>
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(MemoryDoctor.Examine(c.Server)));

    private static void Stats(ref CommandContext c)
    {
        MemoryUsage memory = MemoryUsage.Read(c.Server);
        c.Server.Sampler.NoteMemory(memory.Used);
        long peak = c.Server.Sampler.PeakMemory, resident = MemoryUsage.Resident, dataset = memory.Used - memory.Overhead;
        DeferredReply map = c.Reply.BeginDeferred();
        int pairs = 0;
        Integer(ref c, ref pairs, "peak.allocated", peak);
        Integer(ref c, ref pairs, "total.allocated", memory.Used);
        Integer(ref c, ref pairs, "startup.allocated", 0);
        Integer(ref c, ref pairs, "replication.backlog", 0);
        Integer(ref c, ref pairs, "clients.slaves", memory.Replicas);
        Integer(ref c, ref pairs, "clients.normal", memory.Clients);
        Integer(ref c, ref pairs, "cluster.links", 0);
        Integer(ref c, ref pairs, "aof.buffer", c.Server.Journal?.Engine.BytesPending ?? 0);
        Integer(ref c, ref pairs, "lua.caches", 0);
        Integer(ref c, ref pairs, "functions.caches", 0);
        Databases(ref c, ref pairs);
        Integer(ref c, ref pairs, "overhead.db.hashtable.lut", memory.Indexes);
        Integer(ref c, ref pairs, "overhead.db.hashtable.rehashing", 0);
        Integer(ref c, ref pairs, "db.dict.rehashing.count", 0);
        Integer(ref c, ref pairs, "overhead.total", memory.Overhead);
        Integer(ref c, ref pairs, "keys.count", memory.Keys);
        Integer(ref c, ref pairs, "keys.bytes-per-key", memory.Keys == 0 ? 0 : memory.Data / memory.Keys);
        Integer(ref c, ref pairs, "dataset.bytes", dataset);
        Double(ref c, ref pairs, "dataset.percentage", MemoryInfo.Percent(dataset, memory.Used));
        Double(ref c, ref pairs, "peak.percentage", MemoryInfo.Percent(memory.Used, peak));
        Integer(ref c, ref pairs, "allocator.allocated", memory.Data);
        Integer(ref c, ref pairs, "allocator.active", memory.Reserved);
        Integer(ref c, ref pairs, "allocator.resident", memory.Reserved);
        Integer(ref c, ref pairs, "allocator.muzzy", 0);
        Double(ref c, ref pairs, "allocator-fragmentation.ratio", MemoryInfo.Quotient(memory.Reserved, memory.Data));
        Integer(ref c, ref pairs, "allocator-fragmentation.bytes", memory.Reserved - memory.Data);
        Double(ref c, ref pairs, "allocator-rss.ratio", 1);
        Integer(ref c, ref pairs, "allocator-rss.bytes", 0);
        Double(ref c, ref pairs, "rss-overhead.ratio", MemoryInfo.Quotient(resident, memory.Reserved));
        Integer(ref c, ref pairs, "rss-overhead.bytes", resident - memory.Reserved);
        Double(ref c, ref pairs, "fragmentation", MemoryInfo.Quotient(resident, memory.Used));
        Integer(ref c, ref pairs, "fragmentation.bytes", resident - memory.Used);
        c.Reply.EndMap(map, pairs);
    }

    private static void Databases(ref CommandContext c, ref int pairs)
    {
        for (int database = 0; database < c.Server.Config.Databases; database++)
        {
            bool used = false;
            long bytes = 0, expiringBytes = 0;
            for (int i = 0; i < c.Server.Shards.Count; i++)
            {
                if (c.Server.Shards[i].Store.ExistingDatabase(database) is not { } keyspace) continue;
                used = true;
                bytes += keyspace.IndexBytes - keyspace.ExpiringIndexBytes;
                expiringBytes += keyspace.ExpiringIndexBytes;
            }
            if (!used) continue;
            pairs++;
            c.Reply.BulkString(string.Create(CultureInfo.InvariantCulture, $"db.{database}"));
            c.Reply.MapHeader(2);
            c.Reply.Bulk("overhead.hashtable.main"u8);
            c.Reply.Integer(bytes);
            c.Reply.Bulk("overhead.hashtable.expires"u8);
            c.Reply.Integer(expiringBytes);
        }
    }

    private static void Integer(ref CommandContext c, ref int pairs, string name, long value)
    {
        pairs++;
        c.Reply.BulkString(name);
        c.Reply.Integer(value);
    }

    private static void Double(ref CommandContext c, ref int pairs, string name, double value)
    {
        pairs++;
        c.Reply.BulkString(name);
        c.Reply.Double(value);
    }
}
