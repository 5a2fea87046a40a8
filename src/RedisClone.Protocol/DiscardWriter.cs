using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>Discards replies that no client receives.</summary>
public sealed class DiscardWriter : IBufferWriter<byte>
{
    private byte[] _buffer = new byte[4096];

    public void Advance(int count)
    {
    }

    public Memory<byte> GetMemory(int sizeHint = 0) => Room(sizeHint);

    public Span<byte> GetSpan(int sizeHint = 0) => Room(sizeHint);

    private byte[] Room(int size)
    {
        if (size > _buffer.Length) _buffer = new byte[size];
        return _buffer;
    }
}
