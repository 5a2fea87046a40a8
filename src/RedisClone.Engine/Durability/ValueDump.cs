using RedisClone.Journal.Rdb;
using RedisClone.Storage;
using RedisClone.Storage.Values.Hashes;

namespace RedisClone.Engine.Durability;

/// <summary>Writes single values in the format of DUMP and RESTORE. Reused.</summary>
internal sealed class ValueDump
{
    private readonly RdbMemoryTarget _target = new();
    private readonly RdbWriter _writer;
    private readonly ValueWriter _values;

    public ValueDump()
    {
        _writer = new RdbWriter(_target);
        _values = new ValueWriter(_writer);
    }

    /// <summary>The payload, valid until <see cref="Clear"/>; empty if all fields of a hash have expired.</summary>
    public ReadOnlySpan<byte> Dump(in Entry entry)
    {
        // The previous dump may have failed half way.
        Clear();
        if (!_values.TryWrite(entry)) return default;
        DumpPayload.Finish(_writer, VersionOf(entry));
        return _target.Bytes;
    }

    /// <summary>The RDB version that the value needs.</summary>
    public static int VersionOf(in Entry entry) =>
        ValueWriter.VersionFor(entry.Type == Storage.ValueType.Hash && HashValue.NextExpiry(entry) != 0);

    public void Clear()
    {
        _writer.Reset();
        _target.Clear();
    }
}
