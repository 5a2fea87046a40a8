using RedisClone.Configuration;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Strings;

/// <summary>Strings as bit arrays: commands that get, set, count, search and combine bits.</summary>
internal static class BitmapCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("SETBIT key offset value",
            4, Keys.At(1, RW | Access | Update), Write | DenyOom, "bitmap", "2.2.0", SetBit,
            "Sets one bit of a string value and returns its old value."),
        new("GETBIT key offset",
            3, Keys.At(1, RO | Access), ReadOnly | Fast, "bitmap", "2.2.0", GetBit, "Returns one bit of a string value."),
        new("BITCOUNT key [start end [BYTE | BIT]]",
            -2, Keys.At(1, RO | Access), ReadOnly, "bitmap", "2.6.0", BitCount, "Counts the bits of a string value that are set.")
            { Complexity = "O(N)" },
        new("BITPOS key bit [start [end [BYTE | BIT]]]",
            -3, Keys.At(1, RO | Access), ReadOnly, "bitmap", "2.8.7", BitPos, "Finds the first set or clear bit of a string value.")
            { Complexity = "O(N)" },
        new("BITOP <AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE> destkey key [key ...]",
            -4, Keys.At(2, OW | Update).And(Keys.Range(3, -1, flags: RO | Access)), Write | DenyOom, "bitmap", "2.6.0", BitOp,
            "Combines string values bit by bit and stores the result.") { Complexity = "O(N)" },
    ];

    private const string BadBit = "ERR bit is not an integer or out of range";

    /// <summary>Bytes of the result that BITOP computes at once. They stay in the first-level cache.</summary>
    private const int PieceOfCombination = 16 * 1024;

    private static void SetBit(ref CommandContext c)
    {
        long position = Offset(ref c, c.Args[2]);
        bool value = !c.Failed && c.Int64(3, 0, 1, BadBit) == 1;
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        int old = entry.Exists ? StringValue.Length(entry) : 0, needed = (int)(position >> 3) + 1;
        if (c.MoveToWorker((needed - old) / Limits.BytesPerWork)) return;
        bool before = Bitmap.Set(StringRanges.BytesToChange(ref c, ref entry, needed), position, value);
        if (before != value || needed > old) c.Modified(1, NotifyFlags.String, "setbit");
        c.Reply.Integer(before ? 1 : 0);
    }

    private static void GetBit(ref CommandContext c)
    {
        long position = Offset(ref c, c.Args[2]);
        if (c.Failed) return;
        Entry entry = c.FindForRead(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        bool set = entry.Exists && Bitmap.Get(StringValue.Bytes(entry, stackalloc byte[IntegerText.MaxLength]), position);
        c.Reply.Integer(set ? 1 : 0);
    }

    private static void BitCount(ref CommandContext c)
    {
        int count = c.Args.Count;
        long start = 0, end = -1;
        bool isBits = false;
        if (count is 4 or 5)
        {
            start = c.Int64(2);
            end = c.Int64(3);
            if (count == 5 && !c.Failed) isBits = IsBitUnit(ref c, 4);
        }
        else if (count != 2)
        {
            c.FailSyntax();
        }
        if (c.Failed) return;
        Entry entry = c.FindForRead(1);
        if (entry.Exists && !c.Expect(entry, ValueType.String)) return;
        ReadOnlySpan<byte> bits = entry.Exists ? StringValue.Bytes(entry, stackalloc byte[IntegerText.MaxLength]) : default;
        if (!StringRanges.TryClampRange(ref start, ref end, isBits ? 8L * bits.Length : bits.Length))
        {
            c.Reply.Integer(0);
            return;
        }
        ToBits(isBits, ref start, ref end);
        if (c.MoveToWorker((end - start) / 8 / Limits.BytesPerWork)) return;
        c.Reply.Integer(Bitmap.Count(bits, start, end));
    }

    private static void BitPos(ref CommandContext c)
    {
        int count = c.Args.Count;
        long bit = c.Int64(2);
        if (!c.Failed && bit is not (0 or 1)) c.Fail("ERR The bit argument must be 1 or 0.");
        if (!c.Failed && count > 6) c.FailSyntax();
        if (c.Failed) return;
        long start = count > 3 ? c.Int64(3) : 0, end = -1;
        bool isBits = count == 6 && !c.Failed && IsBitUnit(ref c, 5);
        if (count > 4 && !c.Failed) end = c.Int64(4);
        if (c.Failed) return;
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Integer(bit == 1 ? -1 : 0);
            return;
        }
        if (!c.Expect(entry, ValueType.String)) return;
        ReadOnlySpan<byte> bits = StringValue.Bytes(entry, stackalloc byte[IntegerText.MaxLength]);
        long length = isBits ? 8L * bits.Length : bits.Length;
        // BITPOS tests for an empty range only after it clamps both ends, unlike the other range commands.
        if (start < 0) start = Math.Max(0, start + length);
        if (end < 0) end = Math.Max(0, end + length);
        end = Math.Min(end, length - 1);
        if (start > end)
        {
            c.Reply.Integer(-1);
            return;
        }
        ToBits(isBits, ref start, ref end);
        if (c.MoveToWorker((end - start) / 8 / Limits.BytesPerWork)) return;
        long place = Bitmap.Find(bits, start, end, bit == 1);
        // Without an end argument, zeros follow the last byte of the string.
        if (place < 0 && bit == 0 && count <= 4) place = 8L * bits.Length;
        c.Reply.Integer(place);
    }

    private static void BitOp(ref CommandContext c)
    {
        if (!TryReadOperation(ref c, out BitOperation operation)) return;
        int longest = 0;
        long work = 0;
        for (int i = 3; i < c.Args.Count; i++)
        {
            Entry source = c.FindForRead(i);
            if (!source.Exists) continue;
            if (!c.Expect(source, ValueType.String)) return;
            int length = StringValue.Length(source);
            longest = Math.Max(longest, length);
            work += length;
        }
        if (c.MoveToWorker((work + longest) / Limits.BytesPerWork)) return;
        Entry target = c.FindForWrite(2);
        if (longest == 0)
        {
            if (target.Exists) c.Remove(target, 2);
            c.Reply.Integer(0);
            return;
        }
        // The target may also be a source, so the result is built beside it.
        Keyspace scratch = c.ScratchFor(2);
        Entry built = scratch.Find(c.Args[2], c.HashOf(2));
        Combine(ref c, operation, StringValue.Create(scratch, ref built, c.Args[2], longest));
        StringCommands.NotifyStore(c, target, 2);
        c.Store(built, 2, count: 1, NotifyFlags.String, "set");
        c.Reply.Integer(longest);
    }

    /// <summary>Combines the sources into a result of zeros, piece by piece, so that this needs little memory beside the result.</summary>
    private static void Combine(ref CommandContext c, BitOperation operation, scoped Span<byte> result)
    {
        using var spare = new Scratch(BitCombination.NeedsSpare(operation) ? Math.Min(result.Length, PieceOfCombination) : 0);
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        for (int at = 0; at < result.Length; at += PieceOfCombination)
        {
            Span<byte> piece = result.Slice(at, Math.Min(result.Length - at, PieceOfCombination));
            Span<byte> spareOfPiece = spare.Bytes[..Math.Min(spare.Bytes.Length, piece.Length)];
            spareOfPiece.Clear();
            var combination = new BitCombination(operation, piece, spareOfPiece);
            for (int i = 3; i < c.Args.Count; i++)
            {
                Entry source = c.Peek(i);
                ReadOnlySpan<byte> bytes = source.Exists ? StringValue.Bytes(source, digits) : default;
                combination.Add(at < bytes.Length ? bytes.Slice(at, Math.Min(bytes.Length - at, piece.Length)) : default);
            }
            combination.Finish();
        }
    }

    private static bool TryReadOperation(ref CommandContext c, out BitOperation operation)
    {
        int sources = c.Args.Count - 3;
        BitOperation? named =
            c.Is(1, "AND"u8) ? BitOperation.And :
            c.Is(1, "OR"u8) ? BitOperation.Or :
            c.Is(1, "XOR"u8) ? BitOperation.Xor :
            c.Is(1, "NOT"u8) ? BitOperation.Not :
            c.Is(1, "DIFF"u8) ? BitOperation.Diff :
            c.Is(1, "DIFF1"u8) ? BitOperation.Diff1 :
            c.Is(1, "ANDOR"u8) ? BitOperation.AndOr :
            c.Is(1, "ONE"u8) ? BitOperation.One : null;
        operation = named ?? default;
        if (named is null) return c.FailSyntax();
        if (operation == BitOperation.Not && sources != 1) return c.Fail("ERR BITOP NOT must be called with a single source key.");
        bool splits = operation is BitOperation.Diff or BitOperation.Diff1 or BitOperation.AndOr;
        return !splits || sources > 1 || c.Fail($"ERR BITOP {operation.ToString().ToUpperInvariant()} must be called with at least two source keys.");
    }

    /// <summary>Parses a bit offset, which is limited by the greatest length of a string.</summary>
    internal static long Offset(ref CommandContext c, ReadOnlySpan<byte> text, int unit = 1)
    {
        if (!RedisNumber.TryParseInt64(text, out long offset) || offset < 0 || offset > long.MaxValue / unit) offset = -1;
        offset *= unit;
        if (offset < 0 || offset >> 3 >= c.LongestString) c.Fail(Errors.BitOffset);
        return offset;
    }

    private static bool IsBitUnit(ref CommandContext c, int argument)
    {
        if (c.Is(argument, "BIT"u8)) return true;
        if (!c.Is(argument, "BYTE"u8)) c.FailSyntax();
        return false;
    }

    private static void ToBits(bool isBits, ref long start, ref long end)
    {
        if (isBits) return;
        start *= 8;
        end = end * 8 + 7;
    }
}
