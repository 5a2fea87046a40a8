using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>Discards replies that no client receives. Several writers may share it: what they write is never read.</summary>
public sealed class DiscardWriter : IBufferWriter<byte>
{
    private readonly byte[] _buffer = new byte[4096];

    public void Advance(int count)
    {
    }

    public Memory<byte> GetMemory(int sizeHint = 0) => Room(sizeHint);

    public Span<byte> GetSpan(int sizeHint = 0) => Room(sizeHint);

    /// <summary>A long buffer is not kept: it would be garbage of a reply that no client gets.</summary>
    private byte[] Room(int size) => size > _buffer.Length ? new byte[size] : _buffer;
}
