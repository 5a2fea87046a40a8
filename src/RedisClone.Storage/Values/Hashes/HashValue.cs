using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>A field of a hash, as it lies in memory.</summary>
public readonly ref struct HashField(Element name, Element value, long expiry)
{
    public Element Name { get; } = name;

    public Element Value { get; } = value;

    /// <summary>Unix milliseconds, 0 for never.</summary>
    public long Expiry { get; } = expiry;
}

/// <summary>
/// What can be done with a hash. A field whose time has passed is not seen by any of these, but counted until
/// <see cref="RemoveExpired"/> takes it away: a write must do so first, so that what it finds is what its journal says.
/// </summary>
/// <remarks>
/// Texts passed in must not lie in the hash that is changed. What removes the last field leaves an empty hash, whose key
/// the caller removes.
/// </remarks>
public static class HashValue
{
    /// <summary>As an expiry: what the field had.</summary>
    public const long KeepExpiry = -1;

    /// <summary>A new, empty hash.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.Hash, ValueEncoding.Packed, PackedValue.CountBytes);
        entry.Value.Clear();
        return entry;
    }

    /// <summary>A new hash of fields that many hashes have: they share the names, where the settings allow it.</summary>
    public static void Import<TValues>(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash, FieldNames names, in TValues values)
        where TValues : struct, ITexts, allows ref struct
    {
        if (ShapedFields.TryCreate(keyspace, key, hash, names, values, out _)) return;
        Entry entry = Create(keyspace, key, hash);
        Reserve(entry, names.Count, 0);
        for (int i = 0; i < names.Count; i++) Set(entry, names[i], values[i]);
    }

    /// <summary>For hashes that come from a file, which does not tell which of them shared their names.</summary>
    public static void ShareNames(in Entry entry)
    {
        if (entry.Encoding == ValueEncoding.Packed) ShapedFields.Assemble(entry);
    }

    /// <summary>Chooses the form ahead of a write of several fields, the length of the longest text among them given.</summary>
    public static void Reserve(in Entry entry, long fields, int longestText)
    {
        ValueLimits limits = entry.Keyspace.Store.Limits;
        if (!IsLarge(entry) && (fields > limits.HashMaxListpackEntries || longestText > limits.HashMaxListpackValue))
            LargeHash.Convert(entry);
    }

    public static long Count(in Entry entry) => entry.Encoding switch
    {
        ValueEncoding.Large => LargeHash.Table(entry).Count,
        ValueEncoding.Shaped => ShapedFields.Count(entry),
        _ => PackedFields.Of(entry).Count,
    };

    public static bool TryGet(in Entry entry, ReadOnlySpan<byte> name, out HashField field) => entry.Encoding switch
    {
        ValueEncoding.Large => LargeHash.TryGet(entry, name, out field),
        ValueEncoding.Shaped => ShapedFields.TryGet(entry, Element.Of(name), out field),
        _ => PackedFields.TryGet(entry, Element.Of(name), out field),
    };

    public static bool Contains(in Entry entry, ReadOnlySpan<byte> name) => TryGet(entry, name, out _);

    /// <summary>Gives a field a value; true when the field is new. Its expiry is what is given, 0 for never.</summary>
    public static bool Set(in Entry entry, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, long expiry = 0)
    {
        FaultPoint.Call();
        Reserve(entry, 0, Math.Max(name.Length, value.Length));
        if (ShapedFields.Is(entry))
        {
            if (expiry <= 0 && ShapedFields.TryReplace(entry, Element.Of(name), Element.Of(value)))
                return entry.Keyspace.CountChange(false);
            ShapedFields.Disassemble(entry);
        }
        if (!IsLarge(entry) && !PackedFields.Of(entry).HasRoom((long)name.Length + value.Length)) LargeHash.Convert(entry);
        if (IsLarge(entry)) return entry.Keyspace.CountChange(LargeHash.Set(entry, name, value, expiry));
        bool added = entry.Keyspace.CountChange(PackedFields.Set(entry, Element.Of(name), Element.Of(value), expiry));
        if (added) Reserve(entry, PackedFields.Of(entry).Count, 0);
        return added;
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> name)
    {
        FaultPoint.Call();
        if (IsLarge(entry)) return entry.Keyspace.CountChange(LargeHash.Remove(entry, name));
        return HasOwnNames(entry, name) && entry.Keyspace.CountChange(PackedFields.Remove(entry, Element.Of(name)));
    }

    /// <summary>Sets when a field expires, 0 for never; false when there is no such field.</summary>
    public static bool SetExpiry(in Entry entry, ReadOnlySpan<byte> name, long expiry)
    {
        FaultPoint.Call();
        if (IsLarge(entry)) return entry.Keyspace.CountChange(LargeHash.SetExpiry(entry, name, expiry));
        return HasOwnNames(entry, name) && entry.Keyspace.CountChange(PackedFields.SetExpiry(entry, Element.Of(name), expiry));
    }

    /// <summary>The time at which the first field expires, 0 if none does.</summary>
    public static long NextExpiry(in Entry entry) => entry.Record.NextFieldExpiry;

    /// <summary>Removes up to so many fields whose time has passed, telling their names; returns how many.</summary>
    public static int RemoveExpired<TVisitor>(in Entry entry, int limit, ref TVisitor removed)
        where TVisitor : struct, IElementVisitor, allows ref struct
    {
        FaultPoint.Call();
        entry.Keyspace.CountChange();
        if (PackedFields.IsAlive(NextExpiry(entry), entry.Keyspace.Store.Now)) return 0;
        return IsLarge(entry)
            ? LargeHash.RemoveExpired(entry, limit, ref removed)
            : PackedFields.RemoveExpired(entry, limit, ref removed);
    }

    /// <summary>All fields, each once, if wanted those too whose time has passed; the hash must not be changed meanwhile.</summary>
    public static HashFields Fields(in Entry entry, bool withExpired = false) => HashFields.All(entry, withExpired);

    /// <summary>
    /// The fields of one cursor position; the cursor becomes that of the next one, 0 after the last. A field that is there
    /// from the first position to the last is met.
    /// </summary>
    public static HashFields Scan(in Entry entry, ref ulong cursor)
    {
        if (IsLarge(entry)) return HashFields.Position(entry, ref cursor);
        cursor = 0;
        return HashFields.All(entry);
    }

    /// <summary>The same for all fields, those too whose time has passed: as many as <see cref="Count"/> says.</summary>
    public static HashFields ScanAll(in Entry entry, ref ulong cursor)
    {
        if (IsLarge(entry)) return HashFields.Position(entry, ref cursor, everything: true);
        cursor = 0;
        return HashFields.All(entry, everything: true);
    }

    /// <summary>A field, each as likely as any other; false when none is alive.</summary>
    public static bool TryGetRandom(in Entry entry, out HashField field)
    {
        HashFields one = HashFields.Some(entry, 1);
        bool any = one.MoveNext();
        field = any ? one.Current : default;
        return any;
    }

    /// <summary>So many different fields at random, or all if there are fewer. A store makes one sample at a time.</summary>
    public static HashFields Sample(in Entry entry, long count) => HashFields.Some(entry, count);

    /// <summary>Before a change of the field of this name: a hash that shares its names gets its own, unless it has no such field.</summary>
    private static bool HasOwnNames(in Entry entry, ReadOnlySpan<byte> name)
    {
        if (!ShapedFields.Is(entry)) return true;
        if (!ShapedFields.TryGet(entry, Element.Of(name), out _)) return false;
        ShapedFields.Disassemble(entry);
        return true;
    }

    private static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;
}
