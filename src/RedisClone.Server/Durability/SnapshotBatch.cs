using RedisClone.Journal.Rdb;

namespace RedisClone.Server.Durability;

/// <summary>Keys of a snapshot, their values as they stand there.</summary>
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

    /// <param name="Start">Where the name begins, and behind it the value.</param>
    /// <param name="NameLength">The name's length.</param>
    /// <param name="ValueLength">The value's.</param>
    /// <param name="Type">The value's form.</param>
    /// <param name="Hash">Of the name.</param>
    /// <param name="Expire">An absolute time, or -1.</param>
    /// <param name="Offset">Where the value begins in the file.</param>
    internal readonly record struct Part(int Start, int NameLength, int ValueLength, RdbType Type, ulong Hash, long Expire, long Offset);
}
