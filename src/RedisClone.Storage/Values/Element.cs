using System.Diagnostics;

namespace RedisClone.Storage.Values;

/// <summary>
/// An element of a collection in memory: bytes, or an integer stored in place of its text. Valid until the collection or its
/// keyspace changes.
/// </summary>
public readonly ref struct Element
{
    private readonly ReadOnlySpan<byte> _bytes;
    private readonly long _integer;

    /// <summary>Creates an element of these bytes, even if they are the text of an integer.</summary>
    public Element(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    public Element(long integer)
    {
        _integer = integer;
        IsInteger = true;
    }

    /// <summary>
    /// Creates an element in the form that packed values require: an integer if the text is canonical, otherwise bytes.
    /// </summary>
    public static Element Of(ReadOnlySpan<byte> text) =>
        IntegerText.TryParse(text, out long integer) ? new Element(integer) : new Element(text);

    public bool IsInteger { get; }

    /// <summary>The bytes of an element that is not stored as an integer.</summary>
    public ReadOnlySpan<byte> Bytes
    {
        get
        {
            Debug.Assert(!IsInteger);
            return _bytes;
        }
    }

    public long Integer => _integer;

    /// <summary>Length of the text.</summary>
    public int Length => IsInteger ? IntegerText.LengthOf(_integer) : _bytes.Length;

    /// <summary>
    /// The text. An integer is formatted into <paramref name="scratch"/> (<see cref="IntegerText.MaxLength"/> bytes).
    /// </summary>
    public ReadOnlySpan<byte> Text(Span<byte> scratch) =>
        IsInteger ? scratch[..IntegerText.Format(_integer, scratch)] : _bytes;

    /// <summary>The element as an integer, if its text is the canonical text of one.</summary>
    public bool TryGetInteger(out long value)
    {
        value = _integer;
        return IsInteger || IntegerText.TryParse(_bytes, out value);
    }

    public bool Is(ReadOnlySpan<byte> text) => IsInteger ? Is(Of(text)) : _bytes.SequenceEqual(text);

    /// <summary>Whether both elements have the same text, in whichever form.</summary>
    public bool Is(Element other)
    {
        if (IsInteger == other.IsInteger) return IsInteger ? _integer == other._integer : _bytes.SequenceEqual(other._bytes);
        return TryGetInteger(out long mine) && other.TryGetInteger(out long others) && mine == others;
    }

    /// <summary>Compares the texts byte by byte.</summary>
    public int CompareTo(scoped ReadOnlySpan<byte> text)
    {
        Span<byte> scratch = stackalloc byte[IntegerText.MaxLength];
        return Text(scratch).SequenceCompareTo(text);
    }
}
