using System.Text;
using RedisClone.Journal.Rdb;
using RedisClone.Storage;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Builds a key from its RDB form, element by element. A damaged value leaves an incomplete key, which <see cref="Drop"/>
/// removes.
/// </summary>
internal sealed class ValueReader : IRdbValueVisitor
{
    /// <summary>A longer element than any client can send. The limit keeps lengths far below the range of an int.</summary>
    private const int MaxElement = 1 << 30;

    private const string Twice = "a key is there twice";

    private const int KeptKey = 64 << 10;

    private Keyspace _keyspace = null!;
    private byte[] _key = new byte[64];
    private int _keyLength;
    private ulong _hash;
    private long _expiry;
    private readonly StreamValueReader _stream = new();
    private long _hint;
    private uint _handle;
    private bool _begun, _mayBeSmall;

    /// <summary>The reason why the value is refused, if it is not known to the reader of the RDB; else null.</summary>
    public string? Refusal { get; private set; }

    /// <summary>The current key, for messages.</summary>
    public string KeyText => Encoding.UTF8.GetString(Key);

    private ReadOnlySpan<byte> Key => _key.AsSpan(0, _keyLength);

    /// <summary>
    /// The entry of the current key. It is located by its handle, which is cheaper than a lookup by key. The handle changes
    /// when the record moves.
    /// </summary>
    private Entry Built => _keyspace.Locate(_hash, _handle);

    /// <summary>Sets the key of the next value. An <paramref name="expiry"/> of 0 means none.</summary>
    public ValueReader Start(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash, long expiry)
    {
        if (_key.Length < key.Length) _key = new byte[key.Length];
        key.CopyTo(_key);
        (_keyspace, _keyLength, _hash, _expiry) = (keyspace, key.Length, hash, expiry);
        (_begun, _mayBeSmall, Refusal) = (false, false, null);
        _stream.Stop();
        return this;
    }

    /// <summary>Rejects the next value for this reason.</summary>
    public ValueReader Reject(string reason)
    {
        (_begun, Refusal) = (false, reason);
        return this;
    }

    /// <summary>Removes the key of an incomplete value.</summary>
    public void Drop()
    {
        if (!_begun) return;
        _begun = false;
        Entry entry = _keyspace.Find(Key, _hash);
        if (entry.Exists) _keyspace.Remove(entry);
    }

    /// <summary>
    /// Releases the keyspace and long buffers until the next <see cref="Start"/>, so that an idle reader does not keep them alive.
    /// </summary>
    public void End()
    {
        _keyspace = null!;
        if (_key.Length > KeptKey) _key = [];
        _stream.Trim();
    }

    bool IRdbValueVisitor.Begin(RdbValueKind kind, long countHint)
    {
        if (Refusal is not null) return false;
        // A string is created in one step, which checks whether the key exists.
        if (kind == RdbValueKind.String) return true;
        Entry entry = _keyspace.Find(Key, _hash);
        if (entry.Exists) return Refuse(Twice);
        _hint = countHint;
        // Even if the key is created and then there is no memory for its elements, it is dropped.
        _begun = true;
        switch (kind)
        {
            case RdbValueKind.List:
                entry = ListValue.Create(_keyspace, Key, _hash);
                break;
            case RdbValueKind.Set:
                entry = SetValue.Create(_keyspace, Key, _hash);
                break;
            case RdbValueKind.Hash:
                entry = HashValue.Create(_keyspace, Key, _hash);
                HashValue.Reserve(entry, countHint, 0);
                break;
            case RdbValueKind.SortedSet:
                entry = SortedSetValue.Create(_keyspace, Key, _hash);
                SortedSetValue.Reserve(entry, countHint, 0);
                break;
            default:
                entry = StreamValue.Create(_keyspace, Key, _hash);
                _stream.Start();
                break;
        }
        if (_expiry != 0) _keyspace.SetExpiry(entry, _expiry);
        return Keep(entry);
    }

    bool IRdbValueVisitor.String(ReadOnlySpan<byte> value)
    {
        if (value.Length > MaxElement) return false;
        Entry entry = _keyspace.Find(Key, _hash);
        if (entry.Exists) return Refuse(Twice);
        _begun = true;
        StringValue.Set(_keyspace, ref entry, Key, value, _expiry);
        return Keep(entry);
    }

    bool IRdbValueVisitor.ListElement(ReadOnlySpan<byte> value)
    {
        if (value.Length > MaxElement) return false;
        Entry entry = Built;
        ListValue.Push(entry, ListEnd.Tail, value);
        return Keep(entry);
    }

    bool IRdbValueVisitor.SetMember(ReadOnlySpan<byte> member)
    {
        if (member.Length > MaxElement) return false;
        Entry entry = Built;
        if (_hint > 0) SetValue.Reserve(entry, _hint, member);
        _hint = 0;
        return SetValue.Add(entry, member) && Keep(entry);
    }

    bool IRdbValueVisitor.HashField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expireMilliseconds)
    {
        if (field.Length > MaxElement || value.Length > MaxElement) return false;
        Entry entry = Built;
        // The storage uses 0 for no expiry, so an expiry of 0 becomes 1.
        return HashValue.Set(entry, field, value, expireMilliseconds < 0 ? 0 : Math.Max(expireMilliseconds, 1)) && Keep(entry);
    }

    bool IRdbValueVisitor.SortedSetMember(ReadOnlySpan<byte> member, double score)
    {
        if (member.Length > MaxElement || double.IsNaN(score)) return false;
        Entry entry = Built;
        // Only the large encoding distinguishes -0 from 0, so the value keeps that encoding at least until it is complete.
        if (score == 0 && double.IsNegative(score))
        {
            SortedSetValue.Reserve(entry, long.MaxValue, 0);
            _mayBeSmall = true;
        }
        return SortedSetValue.Set(entry, member, score, out _) && Keep(entry);
    }

    bool IRdbValueVisitor.End()
    {
        Entry entry = Built;
        if (entry.Type == ValueType.Hash) HashValue.ShareNames(entry);
        if (_mayBeSmall) SortedSetValue.Pack(entry);
        return !_stream.IsOpen || _stream.End(entry);
    }

    bool IRdbValueVisitor.StreamEntry(RdbStreamId id, int fields) => _stream.Entry(id, fields);

    bool IRdbValueVisitor.StreamField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value) => _stream.Field(Built, field, value);

    bool IRdbValueVisitor.StreamState(in RdbStreamState state) => _stream.State(Built, state);

    bool IRdbValueVisitor.StreamGroup(ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead) => _stream.Group(Built, name, last, entriesRead);

    bool IRdbValueVisitor.StreamPending(RdbStreamId id, long deliveredMilliseconds, ulong deliveries) =>
        _stream.Pending(Built, id, deliveredMilliseconds, deliveries);

    bool IRdbValueVisitor.StreamConsumer(ReadOnlySpan<byte> name, long seenMilliseconds, long activeMilliseconds) =>
        _stream.Consumer(Built, name, seenMilliseconds, activeMilliseconds);

    bool IRdbValueVisitor.StreamConsumerPending(RdbStreamId id) => _stream.ConsumerPending(Built, id);

    bool IRdbValueVisitor.StreamReturned(RdbStreamId id) => _stream.Returned(Built, id);

    bool IRdbValueVisitor.StreamIdempotence(ulong seconds, ulong maxMessages, ulong added, ulong duplicates) =>
        StreamValueReader.Idempotence(Built, seconds, maxMessages, added, duplicates);

    bool IRdbValueVisitor.StreamProducerMessage(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, RdbStreamId id) =>
        StreamValueReader.Message(Built, producer, message, id);

    private bool Keep(in Entry entry)
    {
        _handle = entry.Handle;
        return true;
    }

    private bool Refuse(string reason)
    {
        Refusal ??= reason;
        return false;
    }
}
