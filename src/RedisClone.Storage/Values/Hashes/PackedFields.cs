using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Hashes;

/// <summary>
/// A small hash within its record: name and value in turn. In a hash with expiring fields, the entries are name, value and expiry
/// in turn (0 for never), and the earliest expiry precedes them.
/// </summary>
internal static class PackedFields
{
    private const int TimeBytes = 8;

    public static PackedValue Of(in Entry entry) =>
        new(
            entry,
            entry.Encoding == ValueEncoding.PackedWithExpiry ? TimeBytes + PackedValue.CountBytes : PackedValue.CountBytes);

    public static bool IsAlive(long expiry, long now) => expiry == 0 || expiry >= now;

    public static HashField Read(ReadOnlySpan<byte> entries, int at, bool expiring, out int next)
    {
        Element name = Packed.Read(entries, at, out next);
        Element value = Packed.Read(entries, next, out next);
        long expiry = expiring ? Packed.Read(entries, next, out next).Integer : 0;
        return new HashField(name, value, expiry);
    }

    public static bool TryGet(in Entry entry, Element name, out HashField field)
    {
        field = default;
        bool expiring = Expiring(entry);
        ReadOnlySpan<byte> entries = Of(entry).Entries;
        int at = Packed.Find(entries, 0, name, expiring ? 3 : 2);
        if (at < 0) return false;
        field = Read(entries, at, expiring, out _);
        return IsAlive(field.Expiry, entry.Keyspace.Store.Now);
    }

    public static bool Set(in Entry entry, Element name, Element value, long expiry)
    {
        if (expiry > 0) MakeExpiring(entry);
        bool expiring = Expiring(entry);
        PackedValue packed = Of(entry);
        int at = Packed.Find(packed.Entries, 0, name, Stride(entry));
        if (at < 0)
        {
            var time = new Element(Math.Max(0, expiry));
            if (expiry > 0) Expect(entry, expiry);
            int size = Packed.SizeOf(name) + Packed.SizeOf(value) + (expiring ? Packed.SizeOf(time) : 0);
            Span<byte> added = packed.Splice(packed.Entries.Length, 0, size);
            added = added[Packed.Write(added, name)..];
            added = added[Packed.Write(added, value)..];
            if (expiring) Packed.Write(added, time);
            packed.Count++;
            return true;
        }
        int valueAt = Packed.Next(packed.Entries, at);
        if (expiring && expiry != HashValue.KeepExpiry) return Replace(entry, valueAt, value, expiry);
        packed.Replace(valueAt, value);
        return false;
    }

    /// <summary>
    /// Sets all fields of an empty hash, names and values in turn, with one change of its size. Returns false, with the hash empty, if
    /// a name repeats or if they are too long together.
    /// </summary>
    public static bool TryFill<TTexts>(in Entry entry, in TTexts texts, int count)
        where TTexts : struct, ITexts, allows ref struct
    {
        PackedValue packed = Of(entry);
        long total = 0;
        for (int i = 0; i < count; i++) total += Packed.SizeOf(Element.Of(texts[i]));
        if (!packed.HasRoom(total)) return false;
        int size = (int)total;
        Span<byte> entries = packed.Splice(0, 0, size);
        int end = 0;
        for (int i = 0; i < count; i += 2)
        {
            Element name = Element.Of(texts[i]);
            if (Packed.Find(entries[..end], 0, name, 2) >= 0)
            {
                packed.Splice(0, size, 0);
                return false;
            }
            end += Packed.Write(entries[end..], name);
            end += Packed.Write(entries[end..], Element.Of(texts[i + 1]));
        }
        packed.Count = count / 2;
        return true;
    }

    public static bool Remove(in Entry entry, Element name)
    {
        PackedValue packed = Of(entry);
        int at = Packed.Find(packed.Entries, 0, name, Stride(entry));
        if (at < 0) return false;
        long expiry = Read(packed.Entries, at, Expiring(entry), out _).Expiry;
        packed.Remove(at, Stride(entry));
        packed.Count--;
        if (expiry != 0 && expiry == NextExpiry(entry)) FindNextExpiry(entry);
        return IsAlive(expiry, entry.Keyspace.Store.Now);
    }

    public static bool SetExpiry(in Entry entry, Element name, long expiry)
    {
        if (expiry != 0) MakeExpiring(entry);
        PackedValue packed = Of(entry);
        int at = Packed.Find(packed.Entries, 0, name, Stride(entry));
        if (at < 0) return false;
        if (Expiring(entry)) ReplaceExpiry(entry, Packed.Next(packed.Entries, at), expiry);
        return true;
    }

    public static long NextExpiry(in Entry entry) => entry.Record.NextFieldExpiry;

    public static int RemoveExpired<TVisitor>(in Entry entry, int limit, ref TVisitor removed)
        where TVisitor : struct, IElementVisitor, allows ref struct
    {
        long now = entry.Keyspace.Store.Now;
        int count = 0;
        PackedValue packed = Of(entry);
        for (int at = 0; at < packed.Entries.Length && count < limit;)
        {
            HashField field = Read(packed.Entries, at, expiring: true, out int next);
            if (IsAlive(field.Expiry, now))
            {
                at = next;
                continue;
            }
            removed.Visit(field.Name);
            packed.Splice(at, next - at, 0);
            packed.Count--;
            count++;
        }
        FindNextExpiry(entry);
        return count;
    }

    private static bool Expiring(in Entry entry) => entry.Encoding == ValueEncoding.PackedWithExpiry;

    private static int Stride(in Entry entry) => Expiring(entry) ? 3 : 2;

    /// <summary>Adds an expiry to every field, and the earliest expiry to the hash.</summary>
    private static void MakeExpiring(in Entry entry)
    {
        if (Expiring(entry)) return;
        PackedValue packed = Of(entry);
        var never = new Element(0);
        int count = packed.Count, size = Packed.SizeOf(never), old = packed.Entries.Length;
        entry.Keyspace.Resize(entry, TimeBytes + entry.Value.Length + count * size);
        Span<byte> value = entry.Value;
        // The entries first move to the end. From there, each field moves to its place, which is never after its source.
        int from = value.Length - old, to = TimeBytes + PackedValue.CountBytes;
        value.Slice(PackedValue.CountBytes, old).CopyTo(value[from..]);
        while (from < value.Length)
        {
            int next = Packed.Skip(value, from, 2);
            value[from..next].CopyTo(value[to..]);
            to += next - from;
            to += Packed.Write(value[to..], never);
            from = next;
        }
        value[..TimeBytes].Clear();
        Keyspace.SetForm(entry, ValueType.Hash, ValueEncoding.PackedWithExpiry);
        packed = Of(entry);
        packed.Count = count;
    }

    /// <summary>Replaces the value and the expiry of a field. Returns true if the field had expired.</summary>
    private static bool Replace(in Entry entry, int valueAt, Element value, long expiry)
    {
        PackedValue packed = Of(entry);
        int timeAt = Packed.Next(packed.Entries, valueAt);
        long old = Packed.Read(packed.Entries, timeAt, out int end).Integer;
        var time = new Element(expiry);
        if (expiry != 0) Expect(entry, expiry);
        Span<byte> room = packed.Splice(valueAt, end - valueAt, Packed.SizeOf(value) + Packed.SizeOf(time));
        Packed.Write(room[Packed.Write(room, value)..], time);
        if (old != 0 && old != expiry && old == NextExpiry(entry)) FindNextExpiry(entry);
        return !IsAlive(old, entry.Keyspace.Store.Now);
    }

    private static void ReplaceExpiry(in Entry entry, int valueAt, long expiry)
    {
        PackedValue packed = Of(entry);
        int at = Packed.Next(packed.Entries, valueAt);
        long old = Packed.Read(packed.Entries, at, out _).Integer;
        if (expiry != 0) Expect(entry, expiry);
        packed.Replace(at, new Element(expiry));
        if (old != 0 && old != expiry && old == NextExpiry(entry)) FindNextExpiry(entry);
    }

    /// <summary>Lowers the earliest expiry of the hash before a field gets this expiry.</summary>
    private static void Expect(in Entry entry, long expiry)
    {
        long next = NextExpiry(entry);
        if (next == 0 || expiry < next) entry.Keyspace.SetNextFieldExpiry(entry, expiry);
    }

    private static void FindNextExpiry(in Entry entry)
    {
        long next = 0;
        Span<byte> entries = Of(entry).Entries;
        for (int at = 0; at < entries.Length;)
        {
            long expiry = Read(entries, at, expiring: true, out at).Expiry;
            if (expiry != 0 && (next == 0 || expiry < next)) next = expiry;
        }
        entry.Keyspace.TrySetNextFieldExpiry(entry, next);
    }
}
