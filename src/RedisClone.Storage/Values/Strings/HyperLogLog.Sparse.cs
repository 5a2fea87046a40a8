using System.Text;

namespace RedisClone.Storage.Values.Strings;

/// <summary>
/// The sparse form: runs of equal registers that together cover all registers. One byte 00nnnnnn: up to 64 zeros; two bytes
/// 01nnnnnn nnnnnnnn: up to 16384 zeros; one byte 1vvvvvnn: up to 4 registers with the same value of at most 32. All numbers are
/// stored minus one.
/// </summary>
public static partial class HyperLogLog
{
    private const int MaxSparseValue = 32, MaxValueRun = 4, MaxShortZeros = 64;

    /// <summary>
    /// Number of opcodes examined for merging after a change, as in Redis: the resulting bytes are the same.
    /// </summary>
    private const int MergeScan = 5;

    /// <summary>
    /// The position of an opcode and its first register, from which a search can start. It is an opcode of zeros, because changes
    /// after such an opcode do not move it.
    /// </summary>
    private struct SparsePlace
    {
        public int At, Register;
    }

    /// <summary>
    /// A decoded opcode. If the second byte of a long opcode is missing, it reads as zero; the registers then do not add up and
    /// the value is rejected.
    /// </summary>
    private readonly struct Opcode(ReadOnlySpan<byte> bytes, int at)
    {
        private readonly byte _first = bytes[at];
        private readonly byte _second = at + 1 < bytes.Length ? bytes[at + 1] : (byte)0;

        public bool IsValue => (_first & 0x80) != 0;

        public bool IsLong => (_first & 0xC0) == 0x40;

        public int Value => IsValue ? (_first >> 2 & 0x1F) + 1 : 0;

        public int Run => IsValue ? (_first & 3) + 1 : IsLong ? ((_first & 0x3F) << 8 | _second) + 1 : (_first & 0x3F) + 1;

        public int Length => IsLong ? 2 : 1;
    }

    /// <summary>
    /// Raises one register. If the sparse form cannot hold the value or becomes too large, the estimate becomes dense and the
    /// register is not raised yet.
    /// </summary>
    private static Addition RaiseSparse(in Entry entry, int register, int run, long sparseLimit, ref SparsePlace start)
    {
        if (run > MaxSparseValue) return Promote(entry);
        ReadOnlySpan<byte> bytes = entry.Value[HeaderBytes..];
        int at = start.At, first = start.Register, previous = -1;
        Opcode opcode;
        while (true)
        {
            if (at >= bytes.Length) return Addition.Corrupt;
            opcode = new Opcode(bytes, at);
            if (register < first + opcode.Run) break;
            if (!opcode.IsValue) start = new SparsePlace { At = at, Register = first };
            previous = at;
            at += opcode.Length;
            first += opcode.Run;
        }
        if (opcode.Value >= run) return Addition.Nothing;

        Span<byte> replacement = stackalloc byte[5];
        int length = Split(opcode, register - first, run, replacement);
        int growth = length - opcode.Length;
        int total = bytes.Length + growth, tail = at + opcode.Length;
        if (growth > 0 && HeaderBytes + total > sparseLimit) return Promote(entry);
        if (tail > bytes.Length) return Addition.Corrupt;

        int spare = (int)Math.Clamp(Math.Min(total / 2, sparseLimit - HeaderBytes - total), 0, 300);
        if (growth > 0) entry.Keyspace.Resize(entry, HeaderBytes + total, spare);
        Span<byte> changed = entry.Value[HeaderBytes..];
        int oldLength = total - growth;
        changed[tail..oldLength].CopyTo(changed[(tail + growth)..]);
        replacement[..length].CopyTo(changed[at..]);
        int left = MergeValues(changed[..total], Math.Max(previous, 0));
        if (HeaderBytes + left != entry.Value.Length) entry.Keyspace.Resize(entry, HeaderBytes + left);
        return Addition.Changed;
    }

    /// <summary>Splits an opcode into opcodes in which one register has another value. Returns their length.</summary>
    private static int Split(in Opcode opcode, int place, int value, Span<byte> into)
    {
        int length = WriteRun(into, opcode.Value, place);
        length += WriteRun(into[length..], value, 1);
        return length + WriteRun(into[length..], opcode.Value, opcode.Run - place - 1);
    }

    private static int WriteRun(Span<byte> into, int value, int run)
    {
        if (run == 0) return 0;
        if (value == 0 && run > MaxShortZeros) return WriteLongZeros(into, run);
        into[0] = (byte)(value == 0 ? run - 1 : 0x80 | value - 1 << 2 | run - 1);
        return 1;
    }

    private static int WriteLongZeros(Span<byte> into, int run)
    {
        into[0] = (byte)(0x40 | run - 1 >> 8);
        into[1] = (byte)(run - 1);
        return 2;
    }

    /// <summary>Merges neighbours with the same value near a change. Returns the remaining length.</summary>
    private static int MergeValues(Span<byte> bytes, int at)
    {
        int length = bytes.Length;
        for (int scan = 0; scan < MergeScan && at < length; scan++)
        {
            var opcode = new Opcode(bytes[..length], at);
            if (opcode.IsValue && at + 1 < length)
            {
                var next = new Opcode(bytes[..length], at + 1);
                if (next.IsValue && next.Value == opcode.Value && opcode.Run + next.Run <= MaxValueRun)
                {
                    WriteRun(bytes[(at + 1)..], opcode.Value, opcode.Run + next.Run);
                    bytes[(at + 1)..length].CopyTo(bytes[at..]);
                    length--;
                    continue;
                }
            }
            at += opcode.Length;
        }
        return length;
    }

    private static Addition Promote(in Entry entry) => TryMakeDense(entry) ? Addition.Changed : Addition.Corrupt;

    private static bool CollectSparse(scoped Span<byte> registers, scoped ReadOnlySpan<byte> value)
    {
        ReadOnlySpan<byte> bytes = value[HeaderBytes..];
        int register = 0;
        for (int at = 0; at < bytes.Length;)
        {
            var opcode = new Opcode(bytes, at);
            at += opcode.Length;
            int end = register + opcode.Run;
            if (end > Registers) return false;
            for (; opcode.IsValue && register < end; register++)
                if (registers[register] < opcode.Value) registers[register] = (byte)opcode.Value;
            register = end;
        }
        return register == Registers;
    }

    /// <summary>The opcodes of a sparse estimate as text: z for a short run of zeros, Z for a long one, v for values.</summary>
    public static string Describe(in Entry entry)
    {
        ReadOnlySpan<byte> bytes = entry.Value[HeaderBytes..];
        var text = new StringBuilder();
        for (int at = 0; at < bytes.Length;)
        {
            var opcode = new Opcode(bytes, at);
            if (at > 0) text.Append(' ');
            if (opcode.IsValue) text.Append($"v:{opcode.Value},{opcode.Run}");
            else text.Append(opcode.IsLong ? "Z:" : "z:").Append(opcode.Run);
            at += opcode.Length;
        }
        return text.ToString();
    }
}
