using System.Diagnostics.CodeAnalysis;
using RedisClone.Engine.Effects;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Shards;

/// <summary>A key of one database, outside the keyspace: a key that is watched, waited for or tracked.</summary>
internal readonly record struct DatabaseKey(int Database, byte[] Key);

/// <summary>A <see cref="DatabaseKey"/> for lookups, which does not copy the key.</summary>
internal readonly ref struct DatabaseKeyRef(int database, ReadOnlySpan<byte> key)
{
    public int Database { get; } = database;

    public ReadOnlySpan<byte> Key { get; } = key;
}

/// <summary>
/// A dictionary by database and key, with lookups by span. It is meant for the few keys that a client watches, waits for or
/// tracks.
/// </summary>
internal sealed class KeyMap<TValue>
{
    private readonly Dictionary<DatabaseKey, TValue> _map = new(DatabaseKeyComparer.Instance);
    private readonly Dictionary<DatabaseKey, TValue>.AlternateLookup<DatabaseKeyRef> _byRef;

    public KeyMap() => _byRef = _map.GetAlternateLookup<DatabaseKeyRef>();

    public int Count => _map.Count;

    public Dictionary<DatabaseKey, TValue>.Enumerator GetEnumerator() => _map.GetEnumerator();

    public bool TryGet(int database, ReadOnlySpan<byte> key, [MaybeNullWhen(false)] out TValue value) =>
        _byRef.TryGetValue(new DatabaseKeyRef(database, key), out value);

    public void Set(int database, ReadOnlySpan<byte> key, TValue value) => _byRef[new DatabaseKeyRef(database, key)] = value;

    public void Clear() => _map.Reuse();

    public bool Remove(int database, ReadOnlySpan<byte> key) => _byRef.Remove(new DatabaseKeyRef(database, key));
}

internal sealed class DatabaseKeyComparer : IEqualityComparer<DatabaseKey>, IAlternateEqualityComparer<DatabaseKeyRef, DatabaseKey>
{
    public static readonly DatabaseKeyComparer Instance = new();

    public bool Equals(DatabaseKey x, DatabaseKey y) => x.Database == y.Database && x.Key.AsSpan().SequenceEqual(y.Key);

    public int GetHashCode(DatabaseKey obj) => GetHashCode(new DatabaseKeyRef(obj.Database, obj.Key));

    public bool Equals(DatabaseKeyRef alternate, DatabaseKey other) =>
        alternate.Database == other.Database && alternate.Key.SequenceEqual(other.Key);

    public int GetHashCode(DatabaseKeyRef alternate) => (int)KeyHash.Of(alternate.Key) + alternate.Database;

    public DatabaseKey Create(DatabaseKeyRef alternate) => new(alternate.Database, alternate.Key.ToArray());
}
