using System.Buffers.Text;
using System.Globalization;
using System.Text;
using RedisClone.Admin.Commands.Cluster;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Replication.Following;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>
/// DEBUG: operations that test suites need. The configuration disables them by default. They run on a worker that holds every
/// shard, so no other command changes data meanwhile.
/// </summary>
internal static class DebugCommands
{
    /// <summary>An operation needs the journal, which receives the effects of a transaction only at its end.</summary>
    private const string NotInTransaction = "ERR not possible within a transaction";

    private static readonly Operation[] Operations =
    [
        new("AOF-FLUSH-SLEEP", 1, 1, "microseconds", "Makes the journal wait before each write.", SleepBeforeWrites),
        new("CHANGE-REPL-ID", 0, 0, "", "Changes the replication ID.", ChangeReplicationId),
        new("CLIENT-EVICTION", 0, 0, "", "Shows the memory of clients.", ClientEviction),
        new("CLUSTERLINK", 3, 3, "KILL <TO | FROM | ALL> node-id", "Closes the links of the bus to a node, from it, or both.", ClusterDebug.EndLinks),
        new("CONFIG-REWRITE-FORCE-ALL",
            0, 0, "", "Writes all parameters to the configuration file, including defaults.", RewriteAll),
        new("DICT-RESIZING", 1, 1, "<0 | 1>", "Accepted, without effect: indexes grow one bucket at a time.", Accept),
        new("DIGEST", 0, 0, "", "Shows a digest of all data.", Digest),
        new("DIGEST-VALUE", 0, int.MaxValue, "key [key ...]", "Shows a digest of each value.", DigestValue),
        new("DROP-CLUSTER-PACKET-FILTER", 1, 1, "packet-type", "Ignores messages of the bus of this type; -1 for none.", ClusterDebug.IgnoreMessages),
        new("ERROR", 1, 1, "string", "Returns this error.", Error),
        new("HTSTATS", 1, 2, "dbid [full]", "Shows statistics of a database's indexes.", IndexStatistics),
        new("HTSTATS-KEY", 1, 2, "key [full]", "Shows statistics of the index of a value.", ValueIndexStatistics),
        new("JMAP", 0, 0, "", "Writes a summary of the managed heap to the log.", ManagedHeap),
        new("LISTPACK", 1, 1, "key", "Writes a summary of a packed value to the log.", PackedValue),
        new("LOADAOF", 0, 0, "", "Flushes the journal, drops all data and loads it from the journal.", LoadJournal),
        new("LOG", 1, 1, "message", "Writes a line to the log.", Log),
        new("OBJECT", 1, 1, "key", "Shows the internal form of a value.", Object),
        new("PANIC", 0, 0, "", "Ends the process as an error that may have damaged data does.", Panic),
        new("PAUSE-CRON", 1, 1, "<0 | 1>", "Stops or resumes background work.", PauseCron),
        new("POPULATE", 1, 3, "count [prefix] [size]", "Adds keys with values, on this server only.", Populate),
        new("PROTOCOL",
            1, 1, "type",
            "Returns an example of a type: string, integer, double, bignum, null, array, set, map, attrib, push, verbatim, " +
                "true, false.", DebugProtocol.Reply),
        new("QUICKLIST-PACKED-THRESHOLD",
            1, 1, "size", "Accepted, without effect: the form of a large element follows from its size.", PackedThreshold),
        new("RELOAD",
            0, 3, "[MERGE] [NOFLUSH] [NOSAVE]", "Saves all data, drops it and loads it again; the options omit steps.", Reload),
        new("REPLYBUFFER",
            2, 2, "<PEAK-RESET-TIME | RESIZING> value",
            "Accepted, without effect: replies go to the buffers of the transport.", Accept),
        new("REPLICATE", 1, int.MaxValue, "command [argument ...]", "Sends a command to the replicas, without executing it here.", Replicate),
        new("SET-ACTIVE-EXPIRE", 1, 1, "<0 | 1>", "Turns active expiry on or off.", SetActiveExpire),
        new("SET-DISABLE-DENY-SCRIPTS",
            1, 1, "<0 | 1>", "Allows scripts to call commands that are forbidden in scripts.", SetDisableDenyScripts),
        new("SET-SKIP-CHECKSUM-VALIDATION",
            1, 1, "<0 | 1>", "Allows RESTORE of payloads with a wrong checksum.", SetSkipChecksum),
        new("SLEEP", 1, 1, "seconds", "Stops all commands on data, replication and the bus of a cluster for some seconds.", Sleep),
        new("STRINGMATCH-LEN", 2, 2, "pattern string", "Returns whether a pattern matches a string.", StringMatch),
    ];

    public static readonly CommandRow[] Rows =
    [
        new("DEBUG subcommand [arg [arg ...]]",
            -2, Keys.None, CommandFlags.Admin | NoScript | Loading | Stale | Protected | Long, "server", "1.0.0", Run,
            "Commands for tests of the server.")
            { Complexity = "Depends on subcommand.", Route = ShardsOf },
    ];

    /// <summary>DEBUG LOG needs no shard, so it also works while the server loads data.</summary>
    private static ShardSet ShardsOf(in Request request, Session session) =>
        request.Count > 1 && Ascii.EqualsIgnoreCase(request[1], "LOG"u8) ? default : session.Server.Shards.All;

    private static void Run(ref CommandContext c)
    {
        if (c.Args.Count == 2 && c.Is(1, "help"u8))
        {
            Help.Reply(ref c, "debug", Operations.Select(o => (o.Word, o.Syntax, o.Summary)));
            return;
        }
        int arguments = c.Args.Count - 2;
        foreach (Operation operation in Operations)
        {
            if (!Ascii.EqualsIgnoreCase(c.Args[1], operation.Word) || arguments < operation.Least || arguments > operation.Most) continue;
            operation.Handler(ref c);
            return;
        }
        c.Fail(Errors.SubcommandSyntax(c.Echo(1), "debug"));
    }

    private static void Accept(ref CommandContext c) => c.Reply.Ok();

    private static void ChangeReplicationId(ref CommandContext c)
    {
        c.Server.History.Change();
        c.Reply.Ok();
    }

    private static void ClientEviction(ref CommandContext c)
    {
        MemoryUsage memory = MemoryUsage.Read(c.Server);
        string text = string.Create(CultureInfo.InvariantCulture,
            $"clients: {c.Server.Sessions.Count}\nbytes: {memory.Clients}\nlimit: {c.Server.Config.MaxMemoryClientsBytes}\n");
        c.Reply.Verbatim("txt"u8, Encoding.ASCII.GetBytes(text));
    }

    private static void RewriteAll(ref CommandContext c)
    {
        if (c.Server.Parameters.Rewrite(everything: true) is { } error) c.Fail(Errors.Spell(error));
        else c.Reply.Ok();
    }

    private static void Digest(ref CommandContext c) => c.Reply.SimpleString(Encoding.ASCII.GetBytes(Convert.ToHexStringLower(KeyspaceDigest.OfAll(c.Server))));

    private static void DigestValue(ref CommandContext c)
    {
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++)
            c.Reply.SimpleString(Encoding.ASCII.GetBytes(Convert.ToHexStringLower(KeyspaceDigest.OfValue(FindEvenExpired(ref c, i)))));
    }

    private static void Error(ref CommandContext c) => c.Reply.Error(c.Args[2]);

    private static void IndexStatistics(ref CommandContext c)
    {
        long database = c.Int64(2, "ERR Invalid dbid");
        if (!c.Failed && (database < 0 || database >= c.Server.Config.Databases)) c.Fail("ERR Out of range database");
        if (c.Failed) return;
        long buckets = 0, keys = 0, expiringBuckets = 0, expiring = 0;
        for (int i = 0; i < c.Server.Shards.Count; i++)
        {
            if (c.Server.Shards[i].Store.ExistingDatabase((int)database) is not { } keyspace) continue;
            buckets += keyspace.BucketCount;
            keys += keyspace.Count;
            expiringBuckets += keyspace.ExpiringBucketCount;
            expiring += keyspace.ExpiringCount;
        }
        string text = "[Dictionary HT]\n" + TableText(buckets, keys) + "[Expires HT]\n" + TableText(expiringBuckets, expiring);
        c.Reply.Verbatim("txt"u8, Encoding.ASCII.GetBytes(text));
    }

    private static void ValueIndexStatistics(ref CommandContext c)
    {
        Entry entry = FindEvenExpired(ref c, 2);
        if (!entry.Exists) c.Fail(Errors.NoSuchKey);
        else if (!ValueInfo.TryGetTable(entry, out long buckets, out long records))
            c.Fail("ERR The value stored at the specified key is not represented using an hash table");
        else c.Reply.Verbatim("txt"u8, Encoding.ASCII.GetBytes(TableText(buckets, records)));
    }

    /// <summary>Replies with the size in slots, because a bucket has several slots.</summary>
    private static string TableText(long buckets, long records) => records == 0
        ? "Hash table 0 stats (main hash table):\nNo stats available for empty dictionaries\n"
        : string.Create(CultureInfo.InvariantCulture,
            $"Hash table 0 stats (main hash table):\n table size: {buckets * HashIndex.SlotsPerBucket}\n " +
            $"number of elements: {records}\n");

    private static void ManagedHeap(ref CommandContext c)
    {
        GCMemoryInfo heap = GC.GetGCMemoryInfo();
        // The order is generation 0, 1, 2, large object heap, pinned object heap.
        string generations = string.Join(", ", heap.GenerationInfo.ToArray().Select(static g => $"{g.SizeAfterBytes} ({g.FragmentationAfterBytes} free)"));
        c.Server.Log.LogWarning(
            "Managed heap: {Heap} bytes, committed {Committed}, fragmented {Fragmented}, allocated {Allocated} since the start",
            heap.HeapSizeBytes, heap.TotalCommittedBytes, heap.FragmentedBytes, GC.GetTotalAllocatedBytes(precise: true));
        c.Server.Log.LogWarning("Collections: {Gen0}/{Gen1}/{Gen2}, generations {Generations}",
            GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2), generations);
        c.Reply.Ok();
    }

    private static void PackedValue(ref CommandContext c)
    {
        Entry entry = FindEvenExpired(ref c, 2);
        if (!entry.Exists) c.Fail(Errors.NoSuchKey);
        else if (entry.Encoding is not (ValueEncoding.Packed or ValueEncoding.PackedWithExpiry or ValueEncoding.Shaped))
            c.Fail("ERR Not a listpack encoded object.");
        if (c.Failed) return;
        c.Server.Log.LogWarning("Packed value of {Bytes} bytes, record of {Record}", entry.Value.Length, entry.RecordBytes);
        c.Reply.SimpleString("Listpack structure printed on stdout"u8);
    }

    private static void Log(ref CommandContext c)
    {
        c.Server.Log.LogWarning("DEBUG LOG: {Message}", c.Text(2));
        c.Reply.Ok();
    }

    private static void Object(ref CommandContext c)
    {
        Entry entry = FindEvenExpired(ref c, 2);
        if (!entry.Exists)
        {
            c.Fail(Errors.NoSuchKey);
            return;
        }
        string text = string.Create(CultureInfo.InvariantCulture,
            $"Value at:0x{c.Server.Shards.IndexOf(entry.Hash):x2}{entry.Handle:x8} refcount:1 " +
            $"encoding:{Encoding.ASCII.GetString(ValueInfo.EncodingName(entry))} " +
            $"serializedlength:{DumpCommands.SerializedLength(entry)} lru:{entry.Access} " +
            $"lru_seconds_idle:{c.Server.AccessClock.IdleSeconds(entry.Access)}");
        if (entry.Type == ValueType.List && entry.Encoding == ValueEncoding.Large) text += ListText(c.Server.Config, entry);
        c.Reply.SimpleString(Encoding.ASCII.GetBytes(text));
    }

    private static string ListText(ServerConfig config, in Entry entry)
    {
        long blocks = ValueInfo.ListBlocks(entry);
        return string.Create(CultureInfo.InvariantCulture,
            $" ql_nodes:{blocks} ql_avg_node:{(double)ListValue.Count(entry) / blocks:F2} ql_listpack_max:{config.ListMaxListpackSize} " +
            $"ql_compressed:{(config.ListCompressDepth != 0 ? 1 : 0)} ql_uncompressed_size:{ValueInfo.MemoryUsage(entry)}");
    }

    private static void Reload(ref CommandContext c)
    {
        bool flush = true, save = true, merge = false;
        for (int i = 2; i < c.Args.Count && !c.Failed; i++)
        {
            if (c.Is(i, "noflush"u8)) flush = false;
            else if (c.Is(i, "nosave"u8)) save = false;
            else if (c.Is(i, "merge"u8)) merge = true;
            else c.Fail("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
        }
        if (!c.Failed && c.Session.InTransaction) c.Fail(NotInTransaction);
        if (c.Failed) return;
        if (save && c.Server.Snapshots.Save() is { } failure)
        {
            c.Fail("ERR " + failure);
            return;
        }
        if (flush) DataSet.Drop(c.Server, c.Lane);
        if (LoadSnapshot(c.Server, merge) is { } reason)
        {
            c.Server.Log.LogError("{Reason}", reason);
            c.Fail("ERR Error trying to load the RDB dump, check server logs");
            return;
        }
        c.Server.Log.LogWarning("DB reloaded by DEBUG RELOAD");
        c.Reply.Ok();
    }

    /// <summary>
    /// Loads the snapshot. Without memory for it, the process ends: memory has a part of the data then, and the next rewrite of the journal would
    /// make that part the whole. A restart loads all of the data.
    /// </summary>
    private static string? LoadSnapshot(ServerCore server, bool replace)
    {
        string? reason;
        try
        {
            reason = server.LoadAgain(() => server.Snapshots.Load(replace), canBeCancelled: false);
        }
        catch (Exception failure) when (FailurePolicy.IsOutOfMemory(failure))
        {
            Fatal.End("the snapshot could not be loaded again", failure);
            throw;
        }
        if (reason?.Contains(LoadRoom.LacksMemory, StringComparison.Ordinal) == true) Fatal.End(reason);
        return reason;
    }

    private static void LoadJournal(ref CommandContext c)
    {
        (ServerCore server, Lane lane) = (c.Server, c.Lane);
        if (c.Session.InTransaction) c.Fail(NotInTransaction);
        else if (server.LoadAgain(() => server.Rewrites.Reload(() => DataSet.Drop(server, lane)), canBeCancelled: false) is { } failure)
            c.Fail("ERR " + failure);
        if (c.Failed) return;
        c.Server.Log.LogWarning("Append Only File loaded by DEBUG LOADAOF");
        c.Reply.Ok();
    }

    private static void Panic(ref CommandContext c) => Fatal.End("DEBUG PANIC was called");

    private static void SleepBeforeWrites(ref CommandContext c)
    {
        long microseconds = c.Int64(2, 0, int.MaxValue, Errors.NotPositive);
        if (c.Failed) return;
        if (c.Server.Journal is { } journal) journal.Engine.DelayBeforeWrites = TimeSpan.FromMicroseconds(microseconds);
        c.Reply.Ok();
    }

    private static void PauseCron(ref CommandContext c)
    {
        c.Server.Debug.BackgroundWork = !c.Is(2, "1"u8);
        c.Reply.Ok();
    }

    private static void Populate(ref CommandContext c)
    {
        long count = c.Int64(2, 0, long.MaxValue, Errors.NotPositive);
        long size = c.Args.Count > 4 ? c.Int64(4, 0, c.Server.Config.ProtoMaxBulkLen, Errors.NotPositive) : 0;
        if (c.Failed) return;
        string prefix = c.Args.Count > 3 ? c.Text(3) : "key";
        // The earlier commands of a transaction are replicated.
        PlaceEffects(ref c, tellsOthers: true);
        for (long i = 0; i < count; i++)
        {
            byte[] key = Encoding.UTF8.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{prefix}:{i}"));
            byte[] value = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"value:{i}"));
            if (size > 0) Array.Resize(ref value, (int)size);
            ulong hash = c.Server.Shards.HashOf(key);
            Entry entry = c.Find(key, hash, c.Session.Database);
            if (entry.Exists) continue;
            StringValue.Set(c.KeyspaceOf(hash), ref entry, key, value, expiry: 0);
            c.Modified(key, hash, c.Session.Database, NotifyFlags.None, "set");
            c.ReplaceEffect("SET"u8, key, value);
            // Each key is a unit of its own, because all keys together could exceed the greatest size of a unit.
            PlaceEffects(ref c, tellsOthers: false);
        }
        c.Reply.Ok();
    }

    private static void PlaceEffects(ref CommandContext c, bool tellsOthers)
    {
        if (c.EffectsWanted) c.Session.SeenLsn = Math.Max(c.Session.SeenLsn, c.Server.Effects.Append(c.Lane.Effects, tellsOthers));
    }

    private static void Replicate(ref CommandContext c)
    {
        string[] words = new string[c.Args.Count - 2];
        for (int i = 0; i < words.Length; i++) words[i] = c.Text(i + 2);
        if (c.Server.Replicas.Stream is { IsOpen: true } stream) stream.Say(PrimaryChannel.Command(words));
        c.Reply.Ok();
    }

    private static void PackedThreshold(ref CommandContext c)
    {
        if (!MemorySize.TryParse(c.Text(2), out long bytes) || bytes is < 0 or > uint.MaxValue)
            c.Fail("ERR argument must be a memory value bigger than 1 and smaller than 4gb");
        else c.Reply.Ok();
    }

    private static void SetActiveExpire(ref CommandContext c)
    {
        c.Server.Debug.ActiveExpiry = !c.Is(2, "0"u8);
        c.Reply.Ok();
    }

    private static void SetSkipChecksum(ref CommandContext c)
    {
        c.Server.Debug.PayloadChecksums = c.Is(2, "0"u8);
        c.Reply.Ok();
    }

    private static void SetDisableDenyScripts(ref CommandContext c)
    {
        c.Server.Debug.ScriptsMayCallAll = !c.Is(2, "0"u8);
        c.Reply.Ok();
    }

    private static void Sleep(ref CommandContext c)
    {
        // As in Redis, an invalid or too long time means no wait.
        _ = Utf8Parser.TryParse(c.Args[2], out double seconds, out _);
        TimeSpan time = seconds is > 0 and < int.MaxValue / 1000 ? TimeSpan.FromSeconds(seconds) : TimeSpan.Zero;
        // The pause also delays commands that need no shard.
        if (!c.Server.Pause.IsOn) c.Server.Pause.Begin(ServerCore.UnixMilliseconds() + (long)time.TotalMilliseconds, PauseMode.All);
        c.Server.Debug.SleepsUntil = ServerCore.UnixMilliseconds() + (long)time.TotalMilliseconds;
        Thread.Sleep(time);
        c.Reply.Ok();
    }

    private static void StringMatch(ref CommandContext c) => c.Reply.Integer(Glob.Matches(c.Args[2], c.Args[3]) ? 1 : 0);

    /// <summary>Finds a key, including one that has expired and is not removed yet.</summary>
    private static Entry FindEvenExpired(ref CommandContext c, int argument)
    {
        ulong hash = c.HashOf(argument);
        return c.KeyspaceOf(hash).Find(c.Args[argument], hash);
    }

    private sealed record Operation(string Word, int Least, int Most, string Syntax, string Summary, CommandHandler Handler);
}
