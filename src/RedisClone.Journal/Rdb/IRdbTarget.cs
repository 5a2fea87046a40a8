using RedisClone.Journal.Disk;

namespace RedisClone.Journal.Rdb;

/// <summary>Where an <see cref="RdbWriter"/> puts its bytes, a buffer at a time.</summary>
public interface IRdbTarget
{
    void Write(ReadOnlySpan<byte> bytes);
}

/// <summary>An RDB in a file.</summary>
/// <param name="file">The file, written from its start.</param>
/// <param name="flushEvery">
/// Bytes between flushes, so that the one at the end, and a journal's flushes meanwhile, do not have to wait for gigabytes;
/// 0 for none.
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

/// <summary>An RDB, or one value of it, in memory.</summary>
public sealed class RdbMemoryTarget : IRdbTarget
{
    private readonly System.Buffers.ArrayBufferWriter<byte> _bytes = new();

    public ReadOnlySpan<byte> Bytes => _bytes.WrittenSpan;

    public void Write(ReadOnlySpan<byte> bytes) => System.Buffers.BuffersExtensions.Write(_bytes, bytes);

    public void Clear() => _bytes.ResetWrittenCount();
}
