using System.Buffers.Text;

namespace RedisClone.Journal.Rdb;

/// <summary>An element of a packed form of Redis: bytes or an integer.</summary>
public readonly ref struct PackedValue
{
    private readonly ReadOnlySpan<byte> _bytes;

    public PackedValue(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    public PackedValue(long number)
    {
        Number = number;
        IsNumber = true;
    }

    public bool IsNumber { get; }

    public long Number { get; }

    /// <summary>
    /// Returns the element as text. An integer is formatted into <paramref name="scratch"/>, which has at least 20
    /// bytes.
    /// </summary>
    public ReadOnlySpan<byte> Text(Span<byte> scratch)
    {
        if (!IsNumber) return _bytes;
        Utf8Formatter.TryFormat(Number, scratch, out int length);
        return scratch[..length];
    }

    /// <summary>Returns the element as an integer if it is one or is the text of one.</summary>
    public bool TryNumber(out long number)
    {
        number = Number;
        return IsNumber || RdbText.TryParseInteger(_bytes, out number);
    }

    /// <summary>Returns the element as the score of a sorted set.</summary>
    public bool TryScore(out double score)
    {
        score = Number;
        if (IsNumber) return true;
        if (_bytes.SequenceEqual("inf"u8) || _bytes.SequenceEqual("+inf"u8)) score = double.PositiveInfinity;
        else if (_bytes.SequenceEqual("-inf"u8)) score = double.NegativeInfinity;
        else return Utf8Parser.TryParse(_bytes, out score, out int used) && used == _bytes.Length && !double.IsNaN(score);
        return true;
    }
}
