using System.Text;
using RedisClone.Configuration;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>
/// BITFIELD and BITFIELD_RO: strings as arrays of small integers. The handler reads the arguments twice: the first pass
/// checks all of them and computes the length of the string, the second pass runs the subcommands.
/// </summary>
internal static class BitfieldCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("BITFIELD key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value | INCRBY encoding " +
            "offset increment> ...]",
            -2, Keys.At(1, RW | Update | Access | VariableFlags), Write | DenyOom, "bitmap", "3.2.0", BitFields,
            "Reads and changes small integers within a string value.")
            { KeyFlagsOf = FlagsOf, Complexity = "O(1) for each subcommand" },
        new("BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]",
            -2, Keys.At(1, RO | Access), ReadOnly | Fast, "bitmap", "6.0.0", BitFieldsRo, "Reads small integers within a string value.")
            { Complexity = "O(1) for each subcommand" },
    ];

    /// <summary>
    /// A command that only has GET and OVERFLOW needs read permission only. Any other word counts as a write, because it may
    /// be a write subcommand.
    /// </summary>
    private static KeyFlags FlagsOf(in Request request, int key)
    {
        for (int i = 2; i < request.Count; i++)
        {
            int left = request.Count - i - 1;
            if (left >= 2 && Ascii.EqualsIgnoreCase(request[i], "GET"u8)) i += 2;
            else if (left >= 1 && Ascii.EqualsIgnoreCase(request[i], "OVERFLOW"u8)) i++;
            else return RW | Access | Update;
        }
        return RO | Access;
    }

    private static void BitFields(ref CommandContext c) => Run(ref c, readOnly: false);

    private static void BitFieldsRo(ref CommandContext c) => Run(ref c, readOnly: true);

    private static void Run(ref CommandContext c, bool readOnly)
    {
        int steps = 0;
        long end = 0;
        var reader = new StepReader(2);
        while (reader.Next(ref c))
        {
            steps++;
            if (reader.Kind != StepKind.Get) end = Math.Max(end, reader.Field.EndByte);
        }
        if (!c.Failed && readOnly && end > 0) c.Fail("ERR BITFIELD_RO only supports the GET subcommand");
        if (c.Failed) return;

        Entry entry = end > 0 ? c.FindForWrite(1) : c.FindForRead(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        int old = entry.Exists ? StringValue.Length(entry) : 0;
        if (c.MoveToWorker(Math.Max(steps, (end - old) / Limits.BytesPerWork))) return;
        bool changed = false;
        if (end > 0)
        {
            StringRanges.BytesToChange(ref c, ref entry, (int)end);
            changed = end > old;
        }
        c.Reply.ArrayHeader(steps);
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        reader = new StepReader(2);
        while (reader.Next(ref c))
        {
            if (reader.Kind != StepKind.Get) changed |= Change(c.Reply, entry.Value, reader);
            else c.Reply.Integer(reader.Field.Read(entry.Exists ? StringValue.Bytes(entry, digits) : default));
        }
        if (changed) c.Modified(1, NotifyFlags.String, "setbit");
    }

    private static bool Change(ReplyWriter reply, Span<byte> bytes, in StepReader step)
    {
        long before = step.Field.Read(bytes);
        bool isSet = step.Kind == StepKind.Set;
        // The operand of SET is unsigned if the field is unsigned.
        Int128 wanted = !isSet ? (Int128)before + step.Operand : step.Field.Signed ? step.Operand : (ulong)step.Operand;
        if (!step.Field.TryFit(wanted, step.Overflow, out long after))
        {
            reply.Null();
            return false;
        }
        step.Field.Write(bytes, after);
        reply.Integer(isSet ? before : after);
        return before != after;
    }

    private enum StepKind : byte
    {
        Get,
        Set,
        IncrBy,
    }

    /// <summary>Reads the subcommands one by one. OVERFLOW applies to the subcommands after it.</summary>
    private struct StepReader(int at)
    {
        private int _at = at;

        public StepKind Kind { get; private set; }

        public BitField Field { get; private set; }

        public long Operand { get; private set; }

        public BitOverflow Overflow { get; private set; }

        public bool Next(ref CommandContext c)
        {
            while (Left(c) >= 1 && c.Is(_at, "OVERFLOW"u8))
            {
                Overflow = ReadOverflow(ref c, _at + 1);
                if (c.Failed) return false;
                _at += 2;
            }
            if (_at >= c.Args.Count) return false;
            if (Left(c) >= 2 && c.Is(_at, "GET"u8)) Kind = StepKind.Get;
            else if (Left(c) >= 3 && c.Is(_at, "SET"u8)) Kind = StepKind.Set;
            else if (Left(c) >= 3 && c.Is(_at, "INCRBY"u8)) Kind = StepKind.IncrBy;
            else return c.FailSyntax();
            Field = ReadField(ref c, _at + 1);
            if (c.Failed) return false;
            if (Kind != StepKind.Get) Operand = c.Int64(_at + 3);
            _at += Kind == StepKind.Get ? 3 : 4;
            return !c.Failed;
        }

        /// <summary>The number of arguments after the current one.</summary>
        private readonly int Left(in CommandContext c) => c.Args.Count - _at - 1;

        private static BitOverflow ReadOverflow(ref CommandContext c, int argument)
        {
            if (c.Is(argument, "WRAP"u8)) return BitOverflow.Wrap;
            if (c.Is(argument, "SAT"u8)) return BitOverflow.Saturate;
            if (!c.Is(argument, "FAIL"u8)) c.Fail("ERR Invalid OVERFLOW type specified");
            return BitOverflow.Fail;
        }

        private static BitField ReadField(ref CommandContext c, int argument)
        {
            ReadOnlySpan<byte> type = c.Args[argument], offset = c.Args[argument + 1];
            bool signed = type.StartsWith((byte)'i');
            long bits = 0;
            if ((!signed && !type.StartsWith((byte)'u')) || !RedisNumber.TryParseInt64(type[1..], out bits) || bits < 1 || bits > (signed ? 64 : 63))
            {
                c.Fail("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.");
                return default;
            }
            bool numbered = offset.StartsWith((byte)'#');
            return new BitField(BitmapCommands.Offset(ref c, numbered ? offset[1..] : offset, numbered ? (int)bits : 1), (int)bits, signed);
        }
    }
}
