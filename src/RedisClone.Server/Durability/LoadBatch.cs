namespace RedisClone.Server.Durability;

/// <summary>What one thread is to bring back, in order, all of it in one database. Reused.</summary>
internal abstract class LoadBatch
{
    /// <summary>About what a second-level cache holds beside the data.</summary>
    private const int UsualBytes = 64 * 1024, MostItems = 256;

    private int _length;

    public int Database { get; private set; }

    public int Count { get; private set; }

    /// <summary>Where <see cref="Append"/> copies to.</summary>
    protected byte[] Bytes { get; private set; } = new byte[UsualBytes];

    /// <summary>Whether there is room for another item, of so many bytes; one that is larger than usual is alone in its batch.</summary>
    public bool Takes(int database, int bytes) =>
        Count == 0 || database == Database && Count < MostItems && bytes <= Bytes.Length - _length;

    public virtual void Clear()
    {
        if (Bytes.Length > UsualBytes) Bytes = new byte[UsualBytes];
        _length = Count = 0;
    }

    /// <summary>Begins the next item; its number.</summary>
    protected int Begin(int database, int bytes)
    {
        if (bytes > Bytes.Length) Bytes = new byte[bytes];
        Database = database;
        return Count++;
    }

    /// <summary>Copies bytes of the item; where they begin.</summary>
    protected int Append(ReadOnlySpan<byte> bytes)
    {
        int start = _length;
        bytes.CopyTo(Bytes.AsSpan(start));
        _length += bytes.Length;
        return start;
    }
}
