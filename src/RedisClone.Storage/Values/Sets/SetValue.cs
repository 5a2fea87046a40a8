using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Sets;

/// <summary>Operations on sets.</summary>
/// <remarks>
/// Arguments must not point into the set that is changed. Removing the last member leaves an empty set; the caller removes its
/// key.
/// </remarks>
public static class SetValue
{
    /// <summary>Creates an empty set.</summary>
    public static Entry Create(Keyspace keyspace, ReadOnlySpan<byte> key, ulong hash)
    {
        Entry entry = keyspace.Insert(key, hash, ValueType.Set, ValueEncoding.Integers, Integers.HeaderBytes);
        Integers.Clear(entry.Value);
        return entry;
    }

    /// <summary>Chooses the form before the addition of this many members, of which the first is given.</summary>
    public static void Reserve(in Entry entry, long members, ReadOnlySpan<byte> first)
    {
        ValueLimits limits = entry.Keyspace.Store.Limits;
        bool integers = IsIntegers(entry);
        if (Count(entry) > 0)
        {
            if (members > (integers ? limits.SetMaxIntsetEntries : limits.SetMaxListpackEntries)) MakeLarge(entry);
            return;
        }
        if (integers && members <= limits.SetMaxIntsetEntries && IntegerText.TryParse(first, out _)) return;
        if (members > limits.SetMaxListpackEntries) MakeLarge(entry);
        else if (integers) Pack(entry);
    }

    public static long Count(in Entry entry) => entry.Encoding switch
    {
        ValueEncoding.Integers => Integers.Count(entry.Value),
        ValueEncoding.Packed => new PackedValue(entry).Count,
        _ => LargeTable(entry).Count,
    };

    /// <summary>Adds a member. Returns false if it is present already.</summary>
    public static bool Add(in Entry entry, ReadOnlySpan<byte> member)
    {
        FaultPoint.Call();
        return entry.Keyspace.CountChange(TryAdd(entry, member));
    }

    private static bool TryAdd(in Entry entry, ReadOnlySpan<byte> member)
    {
        if (entry.Encoding == ValueEncoding.Large) return AddLarge(entry, member);
        Element element = Element.Of(member);
        if (IsIntegers(entry))
        {
            if (Integers.Count(entry.Value) == 0) Reserve(entry, 1, member);
            if (element.IsInteger && IsIntegers(entry)) return AddInteger(entry, element.Integer);
        }
        ValueLimits limits = entry.Keyspace.Store.Limits;
        bool tooLong = member.Length > limits.SetMaxListpackValue;
        if (IsIntegers(entry))
        {
            if (tooLong || WidestText(entry) > limits.SetMaxListpackValue || Count(entry) >= limits.SetMaxListpackEntries)
                return MakeLarge(entry) && AddLarge(entry, member);
            Pack(entry);
        }
        if (entry.Encoding == ValueEncoding.Large) return AddLarge(entry, member);
        PackedValue packed = new(entry);
        if (Packed.Find(packed.Entries, 0, element) >= 0) return false;
        if (tooLong || packed.Count >= limits.SetMaxListpackEntries || !packed.HasRoom(member.Length))
            return MakeLarge(entry) && AddLarge(entry, member);
        packed.Append(element);
        packed.Count++;
        return true;
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> member)
    {
        FaultPoint.Call();
        return entry.Keyspace.CountChange(TryRemove(entry, member));
    }

    private static bool TryRemove(in Entry entry, ReadOnlySpan<byte> member)
    {
        if (entry.Encoding == ValueEncoding.Large) return RemoveLarge(entry, member);
        Element element = Element.Of(member);
        if (IsIntegers(entry)) return element.IsInteger && Integers.Remove(entry, element.Integer);
        PackedValue packed = new(entry);
        int at = Packed.Find(packed.Entries, 0, element);
        if (at < 0) return false;
        packed.Remove(at, 1);
        packed.Count--;
        return true;
    }

    public static bool Contains(in Entry entry, ReadOnlySpan<byte> member) => entry.Encoding == ValueEncoding.Large
        ? LargeTable(entry).Contains(member)
        : ContainsSmall(entry, Element.Of(member));

    /// <summary>Whether a member of another set is in this one.</summary>
    public static bool Contains(in Entry entry, Element member)
    {
        Span<byte> scratch = stackalloc byte[IntegerText.MaxLength];
        if (entry.Encoding == ValueEncoding.Large) return LargeTable(entry).Contains(member.Text(scratch));
        return ContainsSmall(entry, member.IsInteger ? member : Element.Of(member.Bytes));
    }

    /// <summary>All members, each once. The set must not change during the walk.</summary>
    public static SetMembers Members(in Entry entry) => SetMembers.All(entry);

    /// <summary>
    /// The members of one cursor position. Advances the cursor, which becomes 0 after the last position. A member that is present
    /// during the whole scan is visited.
    /// </summary>
    public static SetMembers Scan(in Entry entry, ref ulong cursor)
    {
        if (entry.Encoding == ValueEncoding.Large) return SetMembers.Position(entry, ref cursor);
        cursor = 0;
        return SetMembers.All(entry);
    }

    /// <summary>A random member. Every member has the same probability. The set must not be empty.</summary>
    public static Element Random(in Entry entry)
    {
        Random random = entry.Keyspace.Store.Random;
        if (entry.Encoding == ValueEncoding.Large)
        {
            MemberTable table = LargeTable(entry);
            return new Element(table.Read(table.Index.RandomHandle(random)).Name);
        }
        int at = random.Next((int)Count(entry));
        if (IsIntegers(entry)) return new Element(Integers.At(entry.Value, at));
        Span<byte> entries = new PackedValue(entry).Entries;
        return Packed.Read(entries, Packed.Skip(entries, 0, at), out _);
    }

    /// <summary>Up to <paramref name="count"/> different random members. A store has one sample at a time.</summary>
    public static SetMembers Sample(in Entry entry, long count) => SetMembers.Some(entry, count);

    internal static MemberTable LargeTable(in Entry entry) =>
        new(entry.Keyspace.Store.Arena, ref LargeValues.Root<TableRoot>(entry));

    private static bool IsIntegers(in Entry entry) => entry.Encoding == ValueEncoding.Integers;

    private static bool ContainsSmall(in Entry entry, Element member)
    {
        if (IsIntegers(entry)) return member.IsInteger && Integers.Find(entry.Value, member.Integer) >= 0;
        return Packed.Find(new PackedValue(entry).Entries, 0, member) >= 0;
    }

    private static bool AddInteger(in Entry entry, long integer)
    {
        if (!Integers.Add(entry, integer)) return false;
        long most = Math.Min(entry.Keyspace.Store.Limits.SetMaxIntsetEntries, ValueLimits.MaxPackedBytes / sizeof(long));
        if (Integers.Count(entry.Value) > most) MakeLarge(entry);
        return true;
    }

    private static bool AddLarge(in Entry entry, ReadOnlySpan<byte> member)
    {
        MemberTable table = LargeTable(entry);
        ulong hash = KeyHash.Of(member);
        if (!Unsafe.IsNullRef(ref table.Find(member, hash))) return false;
        table.Add(member, hash);
        return true;
    }

    private static bool RemoveLarge(in Entry entry, ReadOnlySpan<byte> member)
    {
        MemberTable table = LargeTable(entry);
        ulong hash = KeyHash.Of(member);
        ref uint slot = ref table.Find(member, hash);
        if (Unsafe.IsNullRef(ref slot)) return false;
        table.Remove(hash, ref slot);
        return true;
    }

    private static int WidestText(in Entry entry)
    {
        Span<byte> value = entry.Value;
        int count = Integers.Count(value);
        return count == 0 ? 0
            : Math.Max(IntegerText.LengthOf(Integers.At(value, 0)), IntegerText.LengthOf(Integers.At(value, count - 1)));
    }

    private static void Pack(in Entry entry)
    {
        int count = Integers.Count(entry.Value), bytes = 0;
        for (int i = 0; i < count; i++) bytes += Packed.SizeOf(Integers.At(entry.Value, i));
        using Scratch entries = new(bytes);
        for (int i = 0, at = 0; i < count; i++) at += Packed.Write(entries.Bytes[at..], new Element(Integers.At(entry.Value, i)));
        entry.Keyspace.Resize(entry, PackedValue.CountBytes + bytes);
        Keyspace.SetForm(entry, ValueType.Set, ValueEncoding.Packed);
        PackedValue packed = new(entry) { Count = count };
        entries.Bytes.CopyTo(packed.Entries);
    }

    /// <summary>Turns a set into a large one. Always returns true.</summary>
    private static bool MakeLarge(in Entry entry)
    {
        if (entry.Encoding == ValueEncoding.Large) return true;
        Arena arena = entry.Keyspace.Store.Arena;
        TableRoot root = default;
        try
        {
            Fill(new MemberTable(arena, ref root), entry);
        }
        catch
        {
            LargeValues.FreeAll(arena, ValueType.Set, LargeValues.BytesOf(ref root));
            throw;
        }
        LargeValues.Publish(entry, ref root);
        return true;
    }

    private static void Fill(MemberTable table, in Entry entry)
    {
        Span<byte> text = stackalloc byte[IntegerText.MaxLength];
        foreach (Element member in Members(entry))
        {
            ReadOnlySpan<byte> bytes = member.Text(text);
            table.Add(bytes, KeyHash.Of(bytes));
        }
    }
}
