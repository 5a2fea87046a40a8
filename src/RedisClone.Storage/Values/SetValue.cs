using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>What can be done with a set.</summary>
/// <remarks>
/// Texts passed in must not lie in the set that is changed. What removes the last member leaves an empty set, whose key the
/// caller removes.
/// </remarks>
public static class SetValue
{
    /// <summary>A new, empty set.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.Set, ValueEncoding.Integers, Integers.HeaderBytes);
        Integers.Clear(entry.Value);
        return entry;
    }

    /// <summary>Chooses the form of an empty set ahead of so many additions, the first of them given.</summary>
    public static void Reserve(in Entry entry, long members, ReadOnlySpan<byte> first)
    {
    }

    public static long Count(in Entry entry) =>
        IsIntegers(entry) ? Integers.Count(entry.Value) : new PackedValue(entry).Count;

    /// <summary>Adds a member; false when it was there.</summary>
    public static bool Add(in Entry entry, ReadOnlySpan<byte> member)
    {
        Element element = Element.Of(member);
        if (IsIntegers(entry))
        {
            if (element.IsInteger) return Integers.Add(entry, element.Integer);
            Pack(entry);
        }
        PackedValue packed = new(entry);
        if (Packed.Find(packed.Entries, 0, element) >= 0) return false;
        packed.Append(element);
        packed.Count++;
        return true;
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> member)
    {
        Element element = Element.Of(member);
        if (IsIntegers(entry)) return element.IsInteger && Integers.Remove(entry, element.Integer);
        PackedValue packed = new(entry);
        int at = Packed.Find(packed.Entries, 0, element);
        if (at < 0) return false;
        packed.Remove(at, 1);
        packed.Count--;
        return true;
    }

    public static bool Contains(in Entry entry, ReadOnlySpan<byte> member) => Contains(entry, Element.Of(member));

    /// <summary>Whether a member of another set is one of this one.</summary>
    public static bool Contains(in Entry entry, Element member)
    {
        if (!member.IsInteger) member = Element.Of(member.Bytes);
        if (IsIntegers(entry)) return member.IsInteger && Integers.Find(entry.Value, member.Integer) >= 0;
        return Packed.Find(new PackedValue(entry).Entries, 0, member) >= 0;
    }

    /// <summary>All members, each once; the set must not be changed meanwhile.</summary>
    public static SetMembers Members(in Entry entry) => SetMembers.All(entry);

    /// <summary>
    /// The members of one cursor position; the cursor becomes that of the next one, 0 after the last. A member that is there
    /// from the first position to the last is met.
    /// </summary>
    public static SetMembers Scan(in Entry entry, ref ulong cursor)
    {
        cursor = 0;
        return SetMembers.All(entry);
    }

    /// <summary>A member of a set that has any, each as likely as any other.</summary>
    public static Element Random(in Entry entry)
    {
        int at = entry.Keyspace.Store.Random.Next((int)Count(entry));
        if (IsIntegers(entry)) return new Element(Integers.At(entry.Value, at));
        Span<byte> entries = new PackedValue(entry).Entries;
        return Packed.Read(entries, Packed.Skip(entries, 0, at), out _);
    }

    /// <summary>So many different members at random, or all if there are fewer.</summary>
    public static SetMembers Sample(in Entry entry, long count) => SetMembers.Some(entry, count);

    private static bool IsIntegers(in Entry entry) => entry.Encoding == ValueEncoding.Integers;

    private static void Pack(in Entry entry)
    {
        int count = Integers.Count(entry.Value), bytes = 0;
        for (int i = 0; i < count; i++) bytes += Packed.SizeOf(Integers.At(entry.Value, i));
        using Scratch entries = new(bytes);
        for (int i = 0, at = 0; i < count; i++)
            at += Packed.Write(entries.Bytes[at..], new Element(Integers.At(entry.Value, i)));
        entry.Keyspace.Resize(entry, PackedValue.CountBytes + bytes);
        Keyspace.SetForm(entry, ValueType.Set, ValueEncoding.Packed);
        PackedValue packed = new(entry) { Count = count };
        entries.Bytes.CopyTo(packed.Entries);
    }
}
