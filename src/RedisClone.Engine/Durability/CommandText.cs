using System.Buffers.Text;
using RedisClone.Journal.Rdb;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;

namespace RedisClone.Engine.Durability;

/// <summary>Writes commands in RESP, as a client sends them.</summary>
internal sealed class CommandText
{
    private IRdbTarget _target = null!;

    /// <summary>The number of argument bytes written; the caller may reset it.</summary>
    public long Written { get; set; }

    public void Begin(IRdbTarget target) => (_target, Written) = (target, 0);

    public void Head(int arguments) => Line(_target, (byte)'*', arguments);

    public void Bulk(long number)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        Utf8Formatter.TryFormat(number, digits, out int length);
        Bulk(digits[..length]);
    }

    public void Bulk(ReadOnlySpan<byte> argument)
    {
        Written += argument.Length;
        Bulk(_target, argument);
    }

    public void Bulk(Element element)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        Bulk(element.Text(digits));
    }

    public void Bulk(StreamId id)
    {
        Span<byte> text = stackalloc byte[2 * IntegerText.MaxLength + 1];
        Utf8Formatter.TryFormat(id.Milliseconds, text, out int length);
        text[length++] = (byte)'-';
        Utf8Formatter.TryFormat(id.Sequence, text[length..], out int more);
        Bulk(text[..(length + more)]);
    }

    /// <summary>Begins an argument. Its bytes follow through <see cref="Raw"/>, and then a line end.</summary>
    public void BeginBulk(int length) => Line(_target, (byte)'$', length);

    public void Raw(ReadOnlySpan<byte> bytes)
    {
        Written += bytes.Length;
        _target.Write(bytes);
    }

    public static void Bulk(IRdbTarget target, ReadOnlySpan<byte> argument)
    {
        Line(target, (byte)'$', argument.Length);
        target.Write(argument);
        target.Write("\r\n"u8);
    }

    private static void Line(IRdbTarget target, byte type, int number)
    {
        Span<byte> line = stackalloc byte[16];
        line[0] = type;
        Utf8Formatter.TryFormat(number, line[1..], out int length);
        "\r\n"u8.CopyTo(line[(1 + length)..]);
        target.Write(line[..(length + 3)]);
    }
}
