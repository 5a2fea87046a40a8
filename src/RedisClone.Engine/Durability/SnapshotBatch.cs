using RedisClone.Journal.Rdb;

namespace RedisClone.Engine.Durability;

/// <summary>Keys of a snapshot with their encoded values.</summary>
internal sealed class SnapshotBatch : LoadBatch
{
    private Part[] _parts = new Part[16];

    public ref readonly Part this[int index] => ref _parts[index];

    public ReadOnlySpan<byte> NameOf(in Part part) => Bytes.AsSpan(part.Start, part.NameLength);

    public ReadOnlyMemory<byte> ValueOf(in Part part) => Bytes.AsMemory(part.Start + part.NameLength, part.ValueLength);

    public void Add(in RdbKey key, ulong hash, RdbType type, ReadOnlySpan<byte> value, long offset)
    {
        int number = Begin(key.Database, key.Name.Length + value.Length);
        int start = Append(key.Name);
        Append(value);
        if (number == _parts.Length) Array.Resize(ref _parts, number * 2);
        _parts[number] = new Part(start, key.Name.Length, value.Length, type, hash, key.ExpireMilliseconds, offset);
    }

    /// <param name="Start">The offset of the name in the buffer; the value follows the name.</param>
    /// <param name="NameLength">The length of the name.</param>
    /// <param name="ValueLength">The length of the value.</param>
    /// <param name="Type">The encoding of the value.</param>
    /// <param name="Hash">The hash of the name.</param>
    /// <param name="Expire">An absolute time in milliseconds, or -1.</param>
    /// <param name="Offset">The offset of the value in the file.</param>
    internal readonly record struct Part(int Start, int NameLength, int ValueLength, RdbType Type, ulong Hash, long Expire, long Offset);
}
