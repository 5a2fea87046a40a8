using RedisClone.Storage.Structures;

namespace RedisClone.Storage;

/// <summary>
/// A small hash within its record: name and value in turn; in a hash of which some fields expire, name, value and
/// time in turn (0 for never), and in front of all the time at which the first of them expires.
/// </summary>
internal static class PackedFields
{
    private const int TimeBytes = 8;

    public static PackedValue Of(in Entry entry) =>
        new(entry, entry.Encoding == ValueEncoding.PackedWithExpiry ? TimeBytes + PackedValue.CountBytes : PackedValue.CountBytes);

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
            packed.Append(name);
            packed.Append(value);
            if (expiring) packed.Append(new Element(Math.Max(0, expiry)));
            packed.Count++;
            if (expiry > 0) Expect(entry, expiry);
            return true;
        }
        int valueAt = Packed.Next(packed.Entries, at);
        packed.Replace(valueAt, value);
        if (!expiring || expiry == HashValue.KeepExpiry) return false;
        long old = Packed.Read(packed.Entries, Packed.Next(packed.Entries, valueAt), out _).Integer;
        ReplaceExpiry(entry, valueAt, expiry);
        return !IsAlive(old, entry.Keyspace.Store.Now);
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
            count++;
        }
        packed.Count -= count;
        FindNextExpiry(entry);
        return count;
    }

    private static bool Expiring(in Entry entry) => entry.Encoding == ValueEncoding.PackedWithExpiry;

    private static int Stride(in Entry entry) => Expiring(entry) ? 3 : 2;

    /// <summary>Gives every field a place for its time, and the hash one for the first of them.</summary>
    private static void MakeExpiring(in Entry entry)
    {
        if (Expiring(entry)) return;
        PackedValue packed = Of(entry);
        var never = new Element(0);
        for (int at = 0; at < packed.Entries.Length;)
        {
            at = Packed.Skip(packed.Entries, at, 2);
            packed.Insert(at, never);
            at = Packed.Next(packed.Entries, at);
        }
        entry.Keyspace.Resize(entry, entry.Value.Length + TimeBytes);
        Span<byte> value = entry.Value;
        value[..^TimeBytes].CopyTo(value[TimeBytes..]);
        value[..TimeBytes].Clear();
        Keyspace.SetForm(entry, ValueType.Hash, ValueEncoding.PackedWithExpiry);
    }

    private static void ReplaceExpiry(in Entry entry, int valueAt, long expiry)
    {
        PackedValue packed = Of(entry);
        int at = Packed.Next(packed.Entries, valueAt);
        long old = Packed.Read(packed.Entries, at, out _).Integer;
        packed.Replace(at, new Element(expiry));
        if (old != 0 && old == NextExpiry(entry)) FindNextExpiry(entry);
        else if (expiry != 0) Expect(entry, expiry);
    }

    private static void Expect(in Entry entry, long expiry)
    {
        long next = NextExpiry(entry);
        if (next == 0 || expiry < next) SetNextExpiry(entry, expiry);
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
        SetNextExpiry(entry, next);
    }

    private static void SetNextExpiry(in Entry entry, long expiry) => entry.Keyspace.SetNextFieldExpiry(entry, expiry);
}
