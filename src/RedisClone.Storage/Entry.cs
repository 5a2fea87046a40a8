using System.Runtime.CompilerServices;

namespace RedisClone.Storage;

/// <summary>
/// A key that was looked up in a keyspace, present or absent. Valid until the next insert or remove in the same keyspace. A
/// change through the entry itself keeps it valid, even if the value grows and its record moves.
/// </summary>
public readonly ref struct Entry
{
    private readonly ref uint _slot;

    internal Entry(Keyspace keyspace, ulong hash, ref uint slot)
    {
        Keyspace = keyspace;
        Hash = hash;
        _slot = ref slot;
    }

    public Keyspace Keyspace { get; }

    public ulong Hash { get; }

    public bool Exists => !Unsafe.IsNullRef(ref _slot);

    public uint Handle => _slot;

    public ValueType Type => Record.Type;

    public ValueEncoding Encoding => Record.Encoding;

    public ReadOnlySpan<byte> Key => Record.Key;

    /// <summary>
    /// The bytes of the value within the record: the string itself, a packed collection, or the root of a large value.
    /// </summary>
    public Span<byte> Value => Record.Value;

    /// <summary>Unix milliseconds, 0 for never.</summary>
    public long Expiry => Record.Expiry;

    public uint Access
    {
        get => Record.Access;
        set
        {
            Record record = Record;
            record.Access = value;
        }
    }

    /// <summary>Bytes of the arena that the record of this key takes, without its share of the index.</summary>
    public int RecordBytes => Keyspace.Store.Arena.Capacity(_slot);

    internal ref uint Slot => ref _slot;

    internal Record Record => new(Keyspace.Store.Arena.FromStart(_slot));
}
