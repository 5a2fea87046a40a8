using RedisClone.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>Items that one thread loads in order, all of one database. Reused.</summary>
internal abstract class LoadBatch
{
    /// <summary>About the size that fits into a second-level cache together with the loaded data.</summary>
    private const int UsualBytes = 64 * 1024, MostItems = 256;

    private readonly byte[] _usual = HeapRelief.Allocate(UsualBytes);
    private int _length;

    protected LoadBatch() => Bytes = _usual;

    public int Database { get; private set; }

    public int Count { get; private set; }

    /// <summary>The bytes of the buffer.</summary>
    public int Size => Bytes.Length;

    /// <summary>The buffer that <see cref="Append"/> copies to.</summary>
    protected byte[] Bytes { get; private set; }

    /// <summary>
    /// Whether another item of this many bytes fits. An item that is larger than the buffer is alone in its batch.
    /// </summary>
    public bool Takes(int database, int bytes) =>
        Count == 0 || database == Database && Count < MostItems && bytes <= Bytes.Length - _length;

    public virtual void Clear()
    {
        Bytes = _usual;
        _length = Count = 0;
    }

    /// <summary>Begins the next item and returns its number.</summary>
    protected int Begin(int database, int bytes)
    {
        if (bytes > Bytes.Length) Bytes = HeapRelief.Allocate(bytes);
        Database = database;
        return Count++;
    }

    /// <summary>Copies bytes of the item and returns their offset.</summary>
    protected int Append(ReadOnlySpan<byte> bytes)
    {
        int start = _length;
        bytes.CopyTo(Bytes.AsSpan(start));
        _length += bytes.Length;
        return start;
    }
}
