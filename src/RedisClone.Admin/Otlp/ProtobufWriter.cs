using System.Buffers;
using System.Buffers.Binary;
using System.Text;

namespace RedisClone.Admin.Otlp;

/// <summary>Writes messages of Protocol Buffers. A message inside another one is written to a buffer first, because its length precedes it.</summary>
internal sealed class ProtobufWriter
{
    private const int Varint = 0, Fixed64 = 1, LengthDelimited = 2, WireTypeBits = 3;

    private readonly ArrayBufferWriter<byte> _bytes = new();

    public byte[] ToArray() => _bytes.WrittenSpan.ToArray();

    public void Message(int field, Action<ProtobufWriter> write)
    {
        var inner = new ProtobufWriter();
        write(inner);
        Bytes(field, inner.ToArray());
    }

    public void Text(int field, string text) => Bytes(field, Encoding.UTF8.GetBytes(text));

    public void Number(int field, ulong value)
    {
        Tag(field, Varint);
        Raw(value);
    }

    public void Fixed(int field, ulong value)
    {
        Tag(field, Fixed64);
        Span<byte> bytes = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(bytes, value);
        _bytes.Write(bytes);
    }

    public void Double(int field, double value) => Fixed(field, BitConverter.DoubleToUInt64Bits(value));

    private void Bytes(int field, byte[] bytes)
    {
        Tag(field, LengthDelimited);
        Raw((ulong)bytes.Length);
        _bytes.Write(bytes);
    }

    private void Tag(int field, int wireType) => Raw((ulong)((field << WireTypeBits) | wireType));

    private void Raw(ulong value)
    {
        const int more = 0x80, bits = 7;
        for (; value >= more; value >>= bits) _bytes.Write([(byte)(value | more)]);
        _bytes.Write([(byte)value]);
    }
}
