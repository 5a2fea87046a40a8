using System.Globalization;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>Parses and formats the identifiers of stream entries.</summary>
internal static class StreamIds
{
    /// <summary>The length of two 64-bit unsigned numbers in decimal and a hyphen.</summary>
    public const int MaxLength = 41;

    private const string Invalid = "ERR Invalid stream ID specified as stream command argument";
    private const int MaxText = 127;

    /// <summary>
    /// Parses "milliseconds-sequence" or "milliseconds". The second form gets the sequence
    /// <paramref name="missingSequence"/>.
    /// </summary>
    public static bool TryParse(ReadOnlySpan<byte> text, ulong missingSequence, out StreamId id)
    {
        id = default;
        if (text.Length > MaxText) return false;
        int hyphen = text.IndexOf((byte)'-');
        ulong sequence = missingSequence;
        if (!TryNumber(hyphen < 0 ? text : text[..hyphen], out ulong milliseconds)) return false;
        if (hyphen >= 0 && !TryNumber(text[(hyphen + 1)..], out sequence)) return false;
        id = new StreamId(milliseconds, sequence);
        return true;
    }

    /// <summary>Parses an argument as an identifier. It sets the error of Redis if the argument is not valid.</summary>
    public static StreamId StreamId(this ref CommandContext c, int argument, ulong missingSequence = 0)
    {
        if (!TryParse(c.Args[argument], missingSequence, out StreamId id)) c.Fail(Invalid);
        return id;
    }

    /// <summary>Parses an argument as an identifier, where "-" is the least and "+" is the greatest one.</summary>
    public static StreamId StreamIdOrEnd(this ref CommandContext c, int argument, ulong missingSequence = 0) =>
        IsWord(c.Args[argument], '-') ? RedisClone.Storage.Structures.StreamId.Min
        : IsWord(c.Args[argument], '+') ? RedisClone.Storage.Structures.StreamId.Max
        : c.StreamId(argument, missingSequence);

    /// <summary>Parses the lower bound of an interval. An opening parenthesis excludes the identifier itself.</summary>
    public static StreamId LowerStreamBound(this ref CommandContext c, int argument)
    {
        StreamId id = Bound(ref c, argument, 0, out bool isExclusive);
        if (isExclusive && !c.Failed && !id.TryNext(out id)) c.Fail("ERR invalid start ID for the interval");
        return id;
    }

    public static StreamId UpperStreamBound(this ref CommandContext c, int argument)
    {
        StreamId id = Bound(ref c, argument, ulong.MaxValue, out bool isExclusive);
        if (isExclusive && !c.Failed && !id.TryPrevious(out id)) c.Fail("ERR invalid end ID for the interval");
        return id;
    }

    /// <summary>Parses the identifier of a new entry. The server chooses the sequence of "milliseconds-*".</summary>
    public static StreamId NewStreamId(this ref CommandContext c, int argument, out bool hasSequence)
    {
        ReadOnlySpan<byte> text = c.Args[argument];
        hasSequence = !text.EndsWith("-*"u8);
        if (hasSequence) return c.StreamId(argument);
        if (text.Length > MaxText || !TryNumber(text[..^2], out ulong milliseconds)) c.Fail(Invalid);
        else return new StreamId(milliseconds, 0);
        return default;
    }

    public static bool IsWord(ReadOnlySpan<byte> text, char word) => text.Length == 1 && text[0] == word;

    /// <summary>Writes the text of an identifier and returns its length.</summary>
    public static int Write(StreamId id, Span<byte> to)
    {
        id.Milliseconds.TryFormat(to, out int length, default, CultureInfo.InvariantCulture);
        to[length++] = (byte)'-';
        id.Sequence.TryFormat(to[length..], out int more, default, CultureInfo.InvariantCulture);
        return length + more;
    }

    public static void StreamId(this ReplyWriter reply, StreamId id)
    {
        Span<byte> text = stackalloc byte[MaxLength];
        reply.Bulk(text[..Write(id, text)]);
    }

    public static void Add(this EffectBuffer effect, StreamId id)
    {
        Span<byte> text = stackalloc byte[MaxLength];
        effect.Add(text[..Write(id, text)]);
    }

    /// <summary>Replies with an entry as an array of its identifier and an array of its fields and values.</summary>
    public static void StreamEntry(this ReplyWriter reply, scoped in StreamEntry entry)
    {
        reply.ArrayHeader(2);
        StreamEntryParts(reply, entry);
    }

    /// <summary>Replies with the identifier and the fields of an entry without the header of the outer array.</summary>
    public static void StreamEntryParts(this ReplyWriter reply, scoped in StreamEntry entry)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        reply.StreamId(entry.Id);
        reply.ArrayHeader(entry.FieldCount * 2L);
        foreach (StreamFields field in entry)
        {
            reply.Bulk(field.Name.Text(digits));
            reply.Bulk(field.Value.Text(digits));
        }
    }

    private static StreamId Bound(ref CommandContext c, int argument, ulong missingSequence, out bool isExclusive)
    {
        ReadOnlySpan<byte> text = c.Args[argument];
        isExclusive = text.Length > 1 && text[0] == '(';
        if (!isExclusive) return c.StreamIdOrEnd(argument, missingSequence);
        if (!TryParse(text[1..], missingSequence, out StreamId id)) c.Fail(Invalid);
        return id;
    }

    private static bool TryNumber(ReadOnlySpan<byte> digits, out ulong number)
    {
        number = 0;
        foreach (byte c in digits)
        {
            uint digit = (uint)c - '0';
            if (digit > 9 || number > (ulong.MaxValue - digit) / 10) return false;
            number = number * 10 + digit;
        }
        return !digits.IsEmpty;
    }
}
