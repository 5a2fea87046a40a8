using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Journal.Rdb;
using RedisClone.Storage;

namespace RedisClone.Engine.Failures;

/// <summary>
/// Writes a value in the form of DUMP directly to an effect, uncompressed. It needs a small buffer and no memory for the value.
/// </summary>
internal sealed class ValueImage : IRdbTarget
{
    private const int BufferBytes = 4096;

    private readonly RdbWriter _writer;
    private readonly ValueWriter _values;
    private EffectBuffer? _effects;
    private long _length;

    public ValueImage()
    {
        _writer = new RdbWriter(this, compress: false, BufferBytes);
        _values = new ValueWriter(_writer);
    }

    /// <summary>The length of the image; 0 if all fields of a hash have expired.</summary>
    public long Measure(in Entry entry)
    {
        _effects = null;
        _length = 0;
        Write(entry);
        return _length;
    }

    /// <summary>Adds the image to an argument that was begun with its length.</summary>
    public void WriteTo(EffectBuffer effects, in Entry entry)
    {
        _effects = effects;
        Write(entry);
    }

    void IRdbTarget.Write(ReadOnlySpan<byte> bytes)
    {
        _length += bytes.Length;
        _effects?.AddPart(bytes);
    }

    private void Write(in Entry entry)
    {
        _writer.Reset();
        if (_values.TryWrite(entry)) DumpPayload.Finish(_writer, ValueDump.VersionOf(entry));
    }
}
