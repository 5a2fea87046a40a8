using RedisClone.Journal.Disk;

namespace RedisClone.Journal.Rdb;

/// <summary>Receives the bytes of an <see cref="RdbWriter"/>, one buffer at a time.</summary>
public interface IRdbTarget
{
    void Write(ReadOnlySpan<byte> bytes);
}

/// <summary>Writes an RDB to a file.</summary>
/// <param name="file">The file, written from its start.</param>
/// <param name="flushEvery">
/// The number of bytes between flushes, or 0 for none. Without them the final flush, and the flushes of a journal in
/// the meantime, would wait for gigabytes of dirty pages.
/// </param>
public sealed class RdbFileTarget(IDiskFile file, long flushEvery = 4 << 20) : IRdbTarget
{
    private long _flushed;

    public long Length { get; private set; }

    public void Write(ReadOnlySpan<byte> bytes)
    {
        file.Write(Length, bytes);
        Length += bytes.Length;
        if (flushEvery == 0 || Length - _flushed < flushEvery) return;
        file.Flush();
        _flushed = Length;
    }
}

/// <summary>Keeps an RDB, or one value of it, in memory.</summary>
public sealed class RdbMemoryTarget : IRdbTarget
{
    /// <summary>A larger buffer is not kept for the next value.</summary>
    private const int MostKept = 64 * 1024;

    private System.Buffers.ArrayBufferWriter<byte> _bytes = new();

    public ReadOnlySpan<byte> Bytes => _bytes.WrittenSpan;

    public void Write(ReadOnlySpan<byte> bytes) => System.Buffers.BuffersExtensions.Write(_bytes, bytes);

    public void Clear()
    {
        if (_bytes.Capacity > MostKept) _bytes = new();
        else _bytes.ResetWrittenCount();
    }
}
