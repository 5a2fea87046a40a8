using System.Numerics;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// Who has read which of a shard's keys: numbers of readers by key. It lies in the shard's own buffers, so a million keys are nothing for
/// the collector to walk, and count as memory like any data.
/// </summary>
public sealed class ReaderTable(ShardStore store)
{
    private const int LeastToPrune = 16;

    private Keyspace _keys = new(store);

    internal Keyspace Content => _keys;

    /// <summary>Keys that have readers.</summary>
    public long Keys => _keys.Count;

    /// <summary>Readers of all these together.</summary>
    public long Items { get; private set; }

    /// <summary>Notes a reader of a key; tells how many it has now, 0 when this one was known.</summary>
    public long Add(ReadOnlySpan<byte> key, ulong hash, long reader)
    {
        Entry entry = _keys.Find(key, hash);
        bool isFirst = !entry.Exists;
        if (isFirst) entry = SetValue.Create(_keys, key, hash);
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        try
        {
            if (!SetValue.Add(entry, digits[..IntegerText.Format(reader, digits)])) return 0;
        }
        catch (OutOfMemoryException) when (isFirst)
        {
            _keys.RemoveNow(entry);
            throw;
        }
        Items++;
        return SetValue.Count(entry);
    }

    /// <summary>
    /// Whether readers of a key that are gone should be looked for: each time their number has doubled, so that it stays within twice the
    /// living ones at a constant cost.
    /// </summary>
    public static bool IsPruneDue(long readers) => readers >= LeastToPrune && BitOperations.IsPow2(readers);

    /// <summary>Forgets the readers of a key that are gone; tells how many.</summary>
    public int Prune(ReadOnlySpan<byte> key, ulong hash, Func<long, bool> isAlive)
    {
        Entry entry = _keys.Find(key, hash);
        var gone = new List<long>();
        foreach (Element member in SetValue.Members(entry))
            if (member.TryGetInteger(out long reader) && !isAlive(reader)) gone.Add(reader);
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        foreach (long reader in gone) SetValue.Remove(entry, digits[..IntegerText.Format(reader, digits)]);
        Items -= gone.Count;
        return gone.Count;
    }

    /// <summary>Forgets a key and adds its readers to a list; false when nobody has read it.</summary>
    public bool Take(ReadOnlySpan<byte> key, ulong hash, List<long> readers)
    {
        Entry entry = _keys.Find(key, hash);
        if (!entry.Exists) return false;
        Take(entry, readers);
        return true;
    }

    /// <summary>The same for any key of a table that is not empty.</summary>
    public byte[] TakeRandom(List<long> readers)
    {
        uint handle = _keys.RandomHandle(store.Random);
        byte[] key = _keys.KeyOf(handle).ToArray();
        Take(key, Memory.KeyHash.Of(key), readers);
        return key;
    }

    /// <summary>Forgets all; the memory is freed in slices.</summary>
    public void Clear()
    {
        if (_keys.Count == 0) return;
        FaultPoint.Allocation();
        var empty = new Keyspace(store);
        store.FreeLater(_keys);
        _keys = empty;
        Items = 0;
    }

    private void Take(in Entry entry, List<long> readers)
    {
        foreach (Element member in SetValue.Members(entry))
            if (member.TryGetInteger(out long reader)) readers.Add(reader);
        Items -= SetValue.Count(entry);
        _keys.Remove(entry);
    }
}
