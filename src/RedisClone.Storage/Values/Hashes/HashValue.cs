using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Hashes;

/// <summary>A field of a hash in memory.</summary>
public readonly ref struct HashField(Element name, Element value, long expiry)
{
    public Element Name { get; } = name;

    public Element Value { get; } = value;

    /// <summary>Unix milliseconds, 0 for never.</summary>
    public long Expiry { get; } = expiry;
}

/// <summary>
/// Operations on hashes. An expired field is invisible to all of them, but <see cref="Count"/> includes it until
/// <see cref="RemoveExpired"/> removes it. A write must remove expired fields first, so that its effect in the journal matches
/// the fields it finds.
/// </summary>
/// <remarks>
/// Arguments must not point into the hash that is changed. Removing the last field leaves an empty hash; the caller removes its
/// key.
/// </remarks>
public static class HashValue
{
    /// <summary>As an expiry: keep the present expiry of the field.</summary>
    public const long KeepExpiry = -1;

    /// <summary>Creates an empty hash.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.Hash, ValueEncoding.Packed, PackedValue.CountBytes);
        entry.Value.Clear();
        return entry;
    }

    /// <summary>
    /// Creates a hash from field names that many hashes have. The hashes share the names if the settings allow it.
    /// </summary>
    public static void Import<TValues>(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash, FieldNames names, in TValues values)
        where TValues : struct, ITexts, allows ref struct
    {
        if (ShapedFields.TryCreate(keyspace, key, hash, names, values, out _)) return;
        Entry entry = Create(keyspace, key, hash);
        Reserve(entry, names.Count, 0);
        for (int i = 0; i < names.Count; i++) Set(entry, names[i], values[i]);
    }

    /// <summary>Lets a hash share its names with others. For hashes from a file, which does not record shared names.</summary>
    public static void ShareNames(in Entry entry)
    {
        if (entry.Encoding == ValueEncoding.Packed) ShapedFields.Assemble(entry);
    }

    /// <summary>
    /// Chooses the form before a write of several fields. <paramref name="longestText"/> is the length of the longest name or
    /// value.
    /// </summary>
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

    /// <summary>Sets the value and the expiry of a field. Returns true if the field is new. An expiry of 0 means never.</summary>
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

    /// <summary>
    /// Sets the fields of a new hash, names and values in turn, after <see cref="Reserve"/>. A small hash takes its final size at
    /// once, so that it leaves no room behind in the sizes between. Returns the number of fields.
    /// </summary>
    public static int Fill<TTexts>(in Entry entry, in TTexts texts, int count)
        where TTexts : struct, ITexts, allows ref struct
    {
        FaultPoint.Call();
        if (!IsLarge(entry) && PackedFields.TryFill(entry, texts, count))
        {
            entry.Keyspace.CountChange();
            return count / 2;
        }
        int added = 0;
        for (int i = 0; i < count; i += 2)
            if (Set(entry, texts[i], texts[i + 1])) added++;
        return added;
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> name)
    {
        FaultPoint.Call();
        if (IsLarge(entry)) return entry.Keyspace.CountChange(LargeHash.Remove(entry, name));
        return HasOwnNames(entry, name) && entry.Keyspace.CountChange(PackedFields.Remove(entry, Element.Of(name)));
    }

    /// <summary>Sets when a field expires, 0 for never. Returns false if there is no such field.</summary>
    public static bool SetExpiry(in Entry entry, ReadOnlySpan<byte> name, long expiry)
    {
        FaultPoint.Call();
        if (IsLarge(entry)) return entry.Keyspace.CountChange(LargeHash.SetExpiry(entry, name, expiry));
        return HasOwnNames(entry, name) && entry.Keyspace.CountChange(PackedFields.SetExpiry(entry, Element.Of(name), expiry));
    }

    /// <summary>The earliest time at which a field expires, 0 if none does.</summary>
    public static long NextExpiry(in Entry entry) => entry.Record.NextFieldExpiry;

    /// <summary>Whether the hash has expired fields, which <see cref="Count"/> includes and all else hides.</summary>
    public static bool HidesFields(in Entry entry) => !PackedFields.IsAlive(NextExpiry(entry), entry.Keyspace.Store.Now);

    /// <summary>
    /// Removes up to <paramref name="limit"/> expired fields and passes their names to the visitor. Returns how many.
    /// </summary>
    public static int RemoveExpired<TVisitor>(in Entry entry, int limit, ref TVisitor removed)
        where TVisitor : struct, IElementVisitor, allows ref struct
    {
        FaultPoint.Call();
        entry.Keyspace.CountChange();
        if (!HidesFields(entry)) return 0;
        return IsLarge(entry)
            ? LargeHash.RemoveExpired(entry, limit, ref removed)
            : PackedFields.RemoveExpired(entry, limit, ref removed);
    }

    /// <summary>All fields, each once, optionally with the expired ones. The hash must not change during the walk.</summary>
    public static HashFields Fields(in Entry entry, bool withExpired = false) => HashFields.All(entry, withExpired);

    /// <summary>
    /// The fields of one cursor position. Advances the cursor, which becomes 0 after the last position. A field that is present
    /// during the whole scan is visited.
    /// </summary>
    public static HashFields Scan(in Entry entry, ref ulong cursor)
    {
        if (IsLarge(entry)) return HashFields.Position(entry, ref cursor);
        cursor = 0;
        return HashFields.All(entry);
    }

    /// <summary>Like <see cref="Scan"/>, including the expired fields: the number of fields is <see cref="Count"/>.</summary>
    public static HashFields ScanAll(in Entry entry, ref ulong cursor)
    {
        if (IsLarge(entry)) return HashFields.Position(entry, ref cursor, everything: true);
        cursor = 0;
        return HashFields.All(entry, everything: true);
    }

    /// <summary>A random live field. Every field has the same probability. Returns false if there is none.</summary>
    public static bool TryGetRandom(in Entry entry, out HashField field)
    {
        // One random number for the place costs less than one for each field.
        bool isPlace = !IsLarge(entry) && !HidesFields(entry);
        HashFields one = isPlace ? HashFields.All(entry) : HashFields.Some(entry, 1);
        for (long skipped = isPlace ? entry.Keyspace.Store.Random.NextInt64(Count(entry)) : 0; skipped > 0; skipped--) one.MoveNext();
        bool any = one.MoveNext();
        field = any ? one.Current : default;
        return any;
    }

    /// <summary>Up to <paramref name="count"/> different random fields. A store has one sample at a time.</summary>
    public static HashFields Sample(in Entry entry, long count) => HashFields.Some(entry, count);

    /// <summary>
    /// Prepares a change of a field: a hash with shared names gets its own. Returns false if there is no such field.
    /// </summary>
    private static bool HasOwnNames(in Entry entry, ReadOnlySpan<byte> name)
    {
        if (!ShapedFields.Is(entry)) return true;
        if (!ShapedFields.TryGet(entry, Element.Of(name), out _)) return false;
        ShapedFields.Disassemble(entry);
        return true;
    }

    private static bool IsLarge(in Entry entry) => entry.Encoding == ValueEncoding.Large;
}
