using RedisClone.Configuration;
using RedisClone.Engine.Durability;
using RedisClone.Journal.Rdb;
using RedisClone.Memory;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>
/// DUMP and RESTORE: values in the RDB format with a version and a checksum. RESTORE validates all of its input.
/// </summary>
internal static class DumpCommands
{
    /// <summary>
    /// The size, in bytes, of a payload without the value: the type before it, and the version and the checksum after it.
    /// </summary>
    private const int PayloadFrame = 1 + 2 + 8;

    /// <summary>The greatest memory usage of a value that is serialized to compute its length.</summary>
    private const long MostCounted = 64 << 20;

    private const string BusyKey = "BUSYKEY Target key name already exists.";
    private const string WrongPayload = "ERR DUMP payload version or checksum are wrong";
    private const string BadFormat = "ERR Bad data format";

    public static readonly CommandHandler RestoreHandler = Restore;

    public static readonly CommandRow[] Rows =
    [
        new("DUMP key",
            2, Keys.At(1, RO | Access), ReadOnly, "generic", "2.6.0", Dump,
            "Returns a key's value in Redis's serialization format.")
        {
            Complexity = "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of Redis " +
                "objects composing the value and M their average size.",
            Tips = CommandTips.Nondeterministic,
        },
        new("RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
            -4, Keys.At(1, OW | Update), Write | DenyOom, "generic", "2.6.0", RestoreHandler, "Creates a key from a value that DUMP returned.")
        {
            Categories = ["keyspace", "dangerous"],
            Complexity = "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where N is " +
                "the number of Redis objects " +
                "composing the value and M their average size; for sorted sets O(N*M*log(N)).",
        },
        new("RESTORE-ASKING key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
            -4, Keys.At(1, OW | Update), Write | DenyOom, "server", "3.0.0", RestoreHandler, "RESTORE into a slot that this node imports, for MIGRATE.")
        {
            Categories = ["keyspace", "dangerous"],
            Complexity = "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where N is " +
                "the number of Redis objects " +
                "composing the value and M their average size; for sorted sets O(N*M*log(N)).",
        },
    ];

    /// <summary>After a larger value, the thread does not keep its buffers: they may have the size of an element.</summary>
    private const long KeptValue = 1 << 20;

    [ThreadStatic]
    private static ValueDump? _dumper;

    [ThreadStatic]
    private static ValueReader? _reader;

    private static void Dump(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Null();
            return;
        }
        long usage = ValueInfo.MemoryUsage(entry);
        if (c.MoveToWorker(usage / 16)) return;
        ValueDump dumper = _dumper ??= new ValueDump();
        try
        {
            ReadOnlySpan<byte> payload = dumper.Dump(entry);
            if (payload.IsEmpty) c.Reply.Null();
            else c.Reply.Bulk(payload);
        }
        finally
        {
            Release(dumper, usage);
        }
    }

    /// <summary>A value in the format of RESTORE; null if all fields of a hash have expired.</summary>
    public static byte[]? PayloadOf(in Entry entry)
    {
        ValueDump dumper = _dumper ??= new ValueDump();
        try
        {
            ReadOnlySpan<byte> payload = dumper.Dump(entry);
            return payload.IsEmpty ? null : payload.ToArray();
        }
        finally
        {
            Release(dumper, ValueInfo.MemoryUsage(entry));
        }
    }

    private static void Release(ValueDump dumper, long usage)
    {
        dumper.Clear();
        if (usage > KeptValue) _dumper = null;
    }

    /// <summary>
    /// The length of a value in an RDB file, without its type. For a large value, it is the memory usage, because a
    /// serialization to count the bytes would need as much memory.
    /// </summary>
    public static long SerializedLength(in Entry entry)
    {
        long usage = ValueInfo.MemoryUsage(entry);
        if (usage > MostCounted) return usage;
        ValueDump dumper = _dumper ??= new ValueDump();
        int length = dumper.Dump(entry).Length;
        Release(dumper, usage);
        return Math.Max(0, length - PayloadFrame);
    }

    private static void Restore(ref CommandContext c)
    {
        if (!TryOptions(ref c, out Options options)) return;
        if (!options.Replace && c.FindForWrite(1).Exists) c.Fail(BusyKey);
        long time = c.Int64(2);
        if (!c.Failed && time < 0) c.Fail("ERR Invalid TTL value, must be >= 0");
        if (c.Failed) return;
        ReadOnlySpan<byte> payload = c.Args[3];
        if (c.MoveToWorker(payload.Length / 16)) return;
        if (!DumpPayload.IsValid(payload, c.Data.Debug.PayloadChecksums))
        {
            c.Fail(WrongPayload);
            return;
        }
        bool isRelative = time != 0 && !options.Absolute;
        // As in Redis, a sum that overflows is a time in the past.
        if (isRelative) time = unchecked(time + c.Now);
        Keyspace scratch = c.ScratchFor(1);
        if (Build(scratch, c.Args[1], c.HashOf(1), time, payload) is { } problem)
        {
            c.Data.Log.LogWarning("RESTORE: the payload's integrity check failed: {Problem}", problem);
            c.Fail(BadFormat);
            return;
        }
        Entry built = scratch.Find(c.Args[1], c.HashOf(1));
        if (time != 0 && c.IsOver(time))
        {
            Discard(ref c, built);
            return;
        }
        if (options.IdleSeconds >= 0 || options.Frequency >= 0) SetAccess(ref c, ref built, options);
        // As in Redis, a key is new also if another one is replaced.
        if (c.FindForWrite(1).Exists) c.NotifyNew(c.Args[1], c.Session.Database);
        c.Store(built, 1, count: 1, NotifyFlags.Generic, "restore", isNewKey: true);
        c.Data.MigrationLinks.Restored(c.Session.Database, c.Args[1]);
        if (isRelative) ReplaceByAbsolute(ref c, time);
        c.Reply.Ok();
    }

    /// <summary>Builds the value in a keyspace. It returns null, or a description of the error in the payload.</summary>
    private static string? Build(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash, long expiry, ReadOnlySpan<byte> payload)
    {
        if (DumpPayload.TryLongString(payload, out ReadOnlySpan<byte> text))
        {
            Entry entry = keyspace.Find(key, hash);
            StringValue.Set(keyspace, ref entry, key, text, expiry);
            return null;
        }
        ValueReader reader = _reader ??= new ValueReader();
        byte[] bytes = RentedArrays.Rent<byte>(payload.Length);
        payload.CopyTo(bytes);
        try
        {
            string? problem = DumpPayload.Read(bytes.AsMemory(0, payload.Length), reader.Start(keyspace, key, hash, expiry));
            if (problem is not null) reader.Drop();
            return problem;
        }
        finally
        {
            reader.End();
            RentedArrays.Return(bytes);
        }
    }

    /// <summary>Handles a RESTORE with an expiry in the past, which only removes the key that it would replace.</summary>
    private static void Discard(ref CommandContext c, in Entry built)
    {
        built.Keyspace.Remove(built);
        Entry old = c.FindForWrite(1);
        if (old.Exists)
        {
            c.Remove(old, 1);
            c.ReplaceWithRemoval(1);
        }
        c.Reply.Ok();
    }

    private static void SetAccess(ref CommandContext c, ref Entry built, in Options options)
    {
        if (options.Frequency >= 0 && c.Data.AccessClock.CountsFrequency) built.Access = c.Data.AccessClock.OfFrequency((uint)options.Frequency);
        if (options.IdleSeconds >= 0 && !c.Data.AccessClock.CountsFrequency) built.Access = c.Data.AccessClock.OfIdle(options.IdleSeconds);
    }

    private static void ReplaceByAbsolute(ref CommandContext c, long time)
    {
        if (c.ReplaceEffect(c.Args.Count + 1) is not { } effect) return;
        effect.Add("RESTORE"u8);
        for (int i = 1; i < c.Args.Count; i++)
        {
            if (i == 2) effect.Add(time);
            else effect.Add(c.Args[i]);
        }
        effect.Add("ABSTTL"u8);
    }

    private static bool TryOptions(ref CommandContext c, out Options options)
    {
        options = new Options();
        for (int i = 4; i < c.Args.Count && !c.Failed; i++)
        {
            bool hasValue = i + 1 < c.Args.Count;
            if (c.Is(i, "replace"u8)) options.Replace = true;
            else if (c.Is(i, "absttl"u8)) options.Absolute = true;
            else if (c.Is(i, "idletime"u8) && hasValue && options.Frequency < 0)
            {
                options.IdleSeconds = c.Int64(++i);
                if (options.IdleSeconds < 0) c.Fail("ERR Invalid IDLETIME value, must be >= 0");
            }
            else if (c.Is(i, "freq"u8) && hasValue && options.IdleSeconds < 0)
            {
                options.Frequency = c.Int64(++i);
                if (options.Frequency is < 0 or > 255) c.Fail("ERR Invalid FREQ value, must be >= 0 and <= 255");
            }
            else
            {
                c.FailSyntax();
            }
        }
        return !c.Failed;
    }

    private struct Options()
    {
        public bool Replace, Absolute;
        public long IdleSeconds = -1, Frequency = -1;
    }
}
