using System.IO.Hashing;
using System.Text;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Engine.Commands.Strings;

internal enum ConditionKind : byte
{
    None,
    Absent,
    Present,
    Equal,
    NotEqual,
    DigestEqual,
    DigestNotEqual,
}

/// <summary>
/// The condition of a write or a deletion: NX, XX, or a comparison of the value with an operand or a digest.
/// </summary>
internal struct ValueCondition
{
    private const int DigestLength = 16;
    private const string BadDigest = "ERR must be exactly 16 hexadecimal characters";
    private int _operand;

    public ConditionKind Kind { get; private set; }

    /// <summary>Whether the condition compares the value instead of testing that the key exists.</summary>
    public readonly bool ComparesValue => Kind >= ConditionKind.Equal;

    /// <summary>
    /// Takes the argument at <paramref name="i"/> and its operand. It returns false if the argument is not a condition, or if
    /// it contradicts an earlier one.
    /// </summary>
    public bool TryTake(in CommandContext c, ref int i)
    {
        ConditionKind kind = KindOf(c.Args[i]);
        if (kind == ConditionKind.None || (Kind != ConditionKind.None && Kind != kind)) return false;
        if (kind >= ConditionKind.Equal)
        {
            if (i + 1 == c.Args.Count) return false;
            _operand = ++i;
        }
        Kind = kind;
        return true;
    }

    /// <summary>Whether an entry, which may be absent, meets the condition. A comparison requires a string.</summary>
    public readonly bool IsMetBy(ref CommandContext c, in Entry entry)
    {
        switch (Kind)
        {
            case ConditionKind.None: return true;
            case ConditionKind.Absent: return !entry.Exists;
            case ConditionKind.Present: return entry.Exists;
        }
        bool wantsEqual = Kind is ConditionKind.Equal or ConditionKind.DigestEqual;
        if (!entry.Exists) return !wantsEqual;
        ReadOnlySpan<byte> operand = c.Args[_operand];
        ReadOnlySpan<byte> value = StringValue.Bytes(entry, stackalloc byte[IntegerText.MaxLength]);
        if (Kind is ConditionKind.Equal or ConditionKind.NotEqual) return value.SequenceEqual(operand) == wantsEqual;
        if (operand.Length != DigestLength) return c.Fail(BadDigest);
        Span<byte> digest = stackalloc byte[DigestLength];
        WriteDigest(value, digest);
        return Ascii.EqualsIgnoreCase(digest, operand) == wantsEqual;
    }

    /// <summary>Writes the digest of a value: its 64-bit XXH3 hash without a seed, as 16 hexadecimal digits.</summary>
    public static void WriteDigest(ReadOnlySpan<byte> value, Span<byte> digits) =>
        XxHash3.HashToUInt64(value).TryFormat(digits, out _, "x16");

    /// <summary>Whether a word is a condition that compares the value.</summary>
    public static bool IsComparison(ReadOnlySpan<byte> word) => KindOf(word) >= ConditionKind.Equal;

    private static ConditionKind KindOf(ReadOnlySpan<byte> word) => word.Length switch
    {
        2 when Ascii.EqualsIgnoreCase(word, "NX"u8) => ConditionKind.Absent,
        2 when Ascii.EqualsIgnoreCase(word, "XX"u8) => ConditionKind.Present,
        4 when Ascii.EqualsIgnoreCase(word, "IFEQ"u8) => ConditionKind.Equal,
        4 when Ascii.EqualsIgnoreCase(word, "IFNE"u8) => ConditionKind.NotEqual,
        5 when Ascii.EqualsIgnoreCase(word, "IFDEQ"u8) => ConditionKind.DigestEqual,
        5 when Ascii.EqualsIgnoreCase(word, "IFDNE"u8) => ConditionKind.DigestNotEqual,
        _ => ConditionKind.None,
    };
}
