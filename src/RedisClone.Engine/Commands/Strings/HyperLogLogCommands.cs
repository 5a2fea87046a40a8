using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Storage;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>The HyperLogLog commands, which estimate the number of distinct elements.</summary>
internal static class HyperLogLogCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("PFADD key [element [element ...]]",
            -2, Keys.At(1, RW | Insert), Write | DenyOom | Fast | Repeatable, "hyperloglog", "2.8.9", PfAdd, "Adds elements to a HyperLogLog.")
            { Complexity = "O(1) for every element" },
        new("PFCOUNT key [key ...]",
            -2, Keys.Range(1, -1, flags: RW | Access), ReadOnly | MayReplicate, "hyperloglog", "2.8.9", PfCount,
            "Estimates the number of distinct elements of one or more HyperLogLogs.")
            { Complexity = "O(1) for one key, O(N) for N keys, with a larger constant" },
        new("PFMERGE destkey [sourcekey [sourcekey ...]]",
            -2, Keys.At(1, RW | Access | Insert).And(Keys.Range(2, -1, flags: RO | Access)), Write | DenyOom, "hyperloglog", "2.8.9", PfMerge,
            "Merges HyperLogLogs into one.") { Complexity = "O(N) with N being the number of keys, with a large constant" },
        new("PFDEBUG subcommand key",
            3, Keys.At(2, RW | Access), Write | DenyOom | CommandFlags.Admin, "hyperloglog", "2.8.9", PfDebug,
            "Shows the internals of a HyperLogLog.") { Complexity = "N/A" },
        new("PFSELFTEST",
            1, Keys.None, CommandFlags.Admin | Long, "hyperloglog", "2.8.9", PfSelfTest,
            "Tests the HyperLogLog implementation of this server.") { Complexity = "N/A" },
    ];

    private const string Corrupt = "INVALIDOBJ Corrupted HLL object detected";

    /// <summary>The work of a scan over all registers, in the unit of <see cref="Limits.InlineWork"/>.</summary>
    private const int WorkPerEstimate = HyperLogLog.Registers / Limits.BytesPerWork;

    private static void PfAdd(ref CommandContext c)
    {
        if (c.MoveToWorker(c.Args.Count)) return;
        Entry entry = c.FindForWrite(1);
        bool changed = !entry.Exists;
        if (entry.Exists && !Expect(ref c, entry)) return;
        bool sparse = !entry.Exists || HyperLogLog.IsSparse(entry);
        if (sparse && !ReserveDense(ref c)) return;
        if (!entry.Exists) Create(ref c, ref entry);
        long limit = SparseLimit(c);
        for (int i = 2; i < c.Args.Count && !c.Failed; i++)
        {
            HyperLogLog.Addition added = HyperLogLog.Add(entry, c.Args[i], limit);
            changed |= added == HyperLogLog.Addition.Changed;
            if (added == HyperLogLog.Addition.Corrupt) c.Fail(Corrupt);
        }
        // Elements that were added before the corruption was found stay added.
        if (changed)
        {
            HyperLogLog.ForgetCached(entry);
            if (sparse) EffectIsDense(ref c, entry);
            c.Modified(1, c.Failed ? NotifyFlags.None : NotifyFlags.String, "pfadd");
        }
        if (!c.Failed) c.Reply.Integer(changed ? 1 : 0);
    }

    private static void PfCount(ref CommandContext c)
    {
        if (c.Args.Count > 2)
        {
            Span<byte> registers = stackalloc byte[HyperLogLog.Registers];
            registers.Clear();
            if (c.MoveToWorker(WorkPerEstimate * (long)c.Args.Count) || !TryCollect(ref c, registers, out _)) return;
            c.Reply.Integer(HyperLogLog.Count(registers));
            return;
        }
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        if (!Expect(ref c, entry)) return;
        if (!HyperLogLog.TryGetCached(entry, out long cardinality))
        {
            if (!HyperLogLog.TryCount(entry, out cardinality))
            {
                c.Fail(Corrupt);
                return;
            }
            HyperLogLog.SetCached(entry, cardinality);
            // The cached cardinality changed the bytes of the value. This is an effect for replicas and the journal, but no
            // event.
            c.Modified(1, NotifyFlags.None, "");
        }
        c.Reply.Integer(cardinality);
    }

    private static void PfMerge(ref CommandContext c)
    {
        if (c.MoveToWorker(WorkPerEstimate * (long)c.Args.Count)) return;
        Span<byte> registers = stackalloc byte[HyperLogLog.Registers];
        registers.Clear();
        if (!TryCollect(ref c, registers, out bool anyDense)) return;
        Entry target = c.FindForWrite(1);
        bool sparse = !target.Exists || HyperLogLog.IsSparse(target);
        if (sparse && !ReserveDense(ref c)) return;
        if (!target.Exists) Create(ref c, ref target);
        if (anyDense) HyperLogLog.TryMakeDense(target);
        HyperLogLog.RaiseAll(target, registers, SparseLimit(c));
        HyperLogLog.ForgetCached(target);
        if (sparse) EffectIsDense(ref c, target);
        c.Modified(1, NotifyFlags.String, "pfadd");
        c.Reply.Ok();
    }

    private static void PfDebug(ref CommandContext c)
    {
        Entry entry = c.FindForWrite(2);
        if (!entry.Exists)
        {
            c.Fail("ERR The specified key does not exist");
            return;
        }
        if (!Expect(ref c, entry)) return;
        bool sparse = HyperLogLog.IsSparse(entry);
        if (c.Is(1, "GETREG"u8))
        {
            Span<byte> registers = stackalloc byte[HyperLogLog.Registers];
            registers.Clear();
            if (!MakeDense(ref c, entry)) return;
            HyperLogLog.CollectInto(registers, entry);
            c.Reply.ArrayHeader(HyperLogLog.Registers);
            foreach (byte register in registers) c.Reply.Integer(register);
        }
        else if (c.Is(1, "DECODE"u8))
        {
            if (sparse) c.Reply.BulkString(HyperLogLog.Describe(entry));
            else c.Fail("ERR HLL encoding is not sparse");
        }
        else if (c.Is(1, "ENCODING"u8))
        {
            c.Reply.SimpleString(sparse ? "sparse"u8 : "dense"u8);
        }
        else if (c.Is(1, "TODENSE"u8))
        {
            if (MakeDense(ref c, entry)) c.Reply.Integer(sparse ? 1 : 0);
        }
        else
        {
            c.Fail($"ERR Unknown PFDEBUG subcommand '{c.Echo(1)}'");
        }
    }

    private static void PfSelfTest(ref CommandContext c)
    {
        if (HyperLogLogSelfTest.Run(c.Data.Config.HllSparseMaxBytes) is { } failure) c.Fail("ERR TESTFAILED " + failure);
        else c.Reply.Ok();
    }

    /// <summary>Computes the maximum of every register over all keys of the command, from argument 1 on.</summary>
    private static bool TryCollect(ref CommandContext c, scoped Span<byte> registers, out bool anyDense)
    {
        anyDense = false;
        for (int i = 1; i < c.Args.Count; i++)
        {
            Entry entry = c.FindForRead(i);
            if (!entry.Exists) continue;
            if (!Expect(ref c, entry)) return false;
            anyDense |= !HyperLogLog.IsSparse(entry);
            if (!HyperLogLog.CollectInto(registers, entry)) return c.Fail(Corrupt);
        }
        return true;
    }

    private static bool MakeDense(ref CommandContext c, in Entry entry)
    {
        if (!HyperLogLog.IsSparse(entry)) return true;
        if (!HyperLogLog.TryMakeDense(entry)) return c.Fail(Corrupt);
        c.Changed();
        return true;
    }

    /// <summary>
    /// The length from which on an estimate is dense. A replay has no limit: the journal has the value of each estimate that became
    /// dense (<see cref="EffectIsDense"/>), because the parameter may be another one at the next start.
    /// </summary>
    private static long SparseLimit(in CommandContext c) =>
        c.Session is { IsReplay: true, IsPrimary: false } ? long.MaxValue : c.Data.Config.HllSparseMaxBytes;

    private static bool ReserveDense(ref CommandContext c) =>
        c.ReserveEffects(EffectBuffer.SizeOf(4, "SETKEEPTTL".Length + c.Args[1].Length + (long)HyperLogLog.DenseBytes));

    /// <summary>Makes the whole value the effect of a command that made a sparse estimate dense, which happens once for each.</summary>
    private static void EffectIsDense(ref CommandContext c, in Entry entry)
    {
        if (!HyperLogLog.IsSparse(entry)) StringCommands.EffectIsSet(ref c, 1, entry.Value, time: 0, keepExpiry: true);
    }

    private static void Create(ref CommandContext c, ref Entry entry)
    {
        HyperLogLog.Create(entry.Keyspace, ref entry, c.Args[1]);
    }

    private static bool Expect(ref CommandContext c, in Entry entry) =>
        c.Expect(entry, ValueType.String) && (HyperLogLog.IsOne(entry) || c.Fail("WRONGTYPE Key is not a valid HyperLogLog string value."));
}
