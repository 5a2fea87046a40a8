using System.Numerics;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Sets;

namespace RedisClone.Storage;

/// <summary>
/// The readers of each key of a shard, for client-side caching. A number identifies a reader. The table lies in the arena of the
/// shard, so a million keys cost the garbage collector nothing and count as memory like any data.
/// </summary>
public sealed class ReaderTable(ShardStore store)
{
    private const int LeastToPrune = 16;

    private Keyspace _keys = new(store, slots: 1);

    internal Keyspace Content => _keys;

    /// <summary>Number of keys that have readers.</summary>
    public long Keys => _keys.Count;

    /// <summary>Number of readers of all keys together.</summary>
    public long Items { get; private set; }

    /// <summary>Adds a reader of a key. Returns the number of readers of the key, or 0 if this one was known.</summary>
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
    /// Whether the readers of a key should be pruned now: each time their number has doubled. This bounds the table to twice the
    /// live readers at a constant cost.
    /// </summary>
    public static bool IsPruneDue(long readers) => readers >= LeastToPrune && BitOperations.IsPow2(readers);

    /// <summary>Removes the readers of a key that are no longer alive. Returns how many.</summary>
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

    /// <summary>Removes a key and adds its readers to a list. Returns false if the key has no readers.</summary>
    public bool Take(ReadOnlySpan<byte> key, ulong hash, List<long> readers)
    {
        Entry entry = _keys.Find(key, hash);
        if (!entry.Exists) return false;
        Take(entry, readers);
        return true;
    }

    /// <summary>
    /// Like <see cref="Take(ReadOnlySpan{byte}, ulong, List{long})"/>, for a random key. The table must not be empty.
    /// </summary>
    public byte[] TakeRandom(List<long> readers)
    {
        uint handle = _keys.RandomHandle(store.Random);
        byte[] key = _keys.KeyOf(handle).ToArray();
        Take(key, store.HashOf(key), readers);
        return key;
    }

    /// <summary>Removes all keys. The memory is freed in slices.</summary>
    public void Clear()
    {
        if (_keys.Count == 0) return;
        FaultPoint.Allocation();
        var empty = new Keyspace(store, slots: 1);
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
