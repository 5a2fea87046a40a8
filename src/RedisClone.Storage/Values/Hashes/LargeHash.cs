using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Hashes;

/// <summary>The root of a large hash. The earliest expiry of a field comes first, as in a packed hash.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct HashRoot
{
    public long NextExpiry;
    public TableRoot Table;
    public TreeRoot Expiries;
}

/// <summary>A large hash: a table of fields, and a tree of the expiring ones ordered by time.</summary>
internal static class LargeHash
{
    public static MemberTable Table(in Entry entry) =>
        new(entry.Keyspace.Store.Arena, ref LargeValues.Root<HashRoot>(entry).Table);

    public static HashField Read(MemberTable table, uint handle)
    {
        MemberRecord record = table.Read(handle);
        return new HashField(new Element(record.Name), new Element(record.Value), record.Number);
    }

    /// <summary>Turns a small hash into a large one.</summary>
    public static void Convert(in Entry entry)
    {
        if (ShapedFields.Is(entry)) ShapedFields.Disassemble(entry);
        Arena arena = entry.Keyspace.Store.Arena;
        // The earliest expiry stays in place, at the beginning of the value.
        var root = new HashRoot { NextExpiry = entry.Record.NextFieldExpiry };
        try
        {
            Fill(arena, ref root, PackedFields.Of(entry).Entries, entry.Encoding == ValueEncoding.PackedWithExpiry);
        }
        catch
        {
            LargeValues.FreeAll(arena, ValueType.Hash, LargeValues.BytesOf(ref root));
            throw;
        }
        LargeValues.Publish(entry, ref root);
    }

    private static void Fill(Arena arena, ref HashRoot root, ReadOnlySpan<byte> entries, bool expiring)
    {
        var table = new MemberTable(arena, ref root.Table);
        Span<byte> nameText = stackalloc byte[IntegerText.MaxLength], valueText = stackalloc byte[IntegerText.MaxLength];
        for (int at = 0; at < entries.Length;)
        {
            HashField field = PackedFields.Read(entries, at, expiring, out at);
            ReadOnlySpan<byte> name = field.Name.Text(nameText);
            uint handle = table.Add(name, KeyHash.Of(name), FormOf(field.Expiry), field.Expiry, field.Value.Text(valueText));
            if (field.Expiry != 0) new TimeTree(arena, ref root.Expiries).Add(field.Expiry, handle);
        }
    }

    public static bool TryGet(in Entry entry, ReadOnlySpan<byte> name, out HashField field)
    {
        MemberTable table = Table(entry);
        uint handle = table.Find(name);
        field = handle == 0 ? default : Read(table, handle);
        return handle != 0 && PackedFields.IsAlive(field.Expiry, entry.Keyspace.Store.Now);
    }

    public static bool Set(in Entry entry, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, long expiry)
    {
        MemberTable table = Table(entry);
        ulong hash = KeyHash.Of(name);
        ref uint slot = ref table.Find(name, hash);
        if (Unsafe.IsNullRef(ref slot))
        {
            expiry = Math.Max(0, expiry);
            if (expiry != 0) Expect(entry, expiry);
            uint added = table.Add(name, hash, FormOf(expiry), expiry, value);
            if (expiry == 0 || Expiries(entry).TryAdd(expiry, added)) return true;
            table.Remove(hash, ref table.Index.FindHandle(hash, added));
            Arena.ThrowOutOfMemory();
        }
        uint old = slot;
        long oldExpiry = table.Read(old).Number;
        if (expiry == HashValue.KeepExpiry) expiry = oldExpiry;
        if (expiry != 0 && expiry != oldExpiry) Expect(entry, expiry);
        uint prepared = table.Prepare(old, name.Length, FormOf(expiry), value.Length);
        bool isReordered = expiry != oldExpiry || expiry != 0 && prepared != old;
        if (isReordered && expiry != 0 && !Expiries(entry).TryAdd(expiry, prepared))
        {
            table.Discard(old, prepared);
            Arena.ThrowOutOfMemory();
        }
        table.Write(prepared, name, FormOf(expiry), expiry, value);
        if (isReordered && oldExpiry != 0) Expiries(entry).Remove(oldExpiry, old);
        table.Publish(ref slot, prepared);
        if (isReordered) UpdateNextExpiry(entry);
        return !PackedFields.IsAlive(oldExpiry, entry.Keyspace.Store.Now);
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> name)
    {
        MemberTable table = Table(entry);
        ulong hash = KeyHash.Of(name);
        ref uint slot = ref table.Find(name, hash);
        if (Unsafe.IsNullRef(ref slot)) return false;
        long expiry = table.Read(slot).Number;
        if (expiry != 0)
        {
            Expiries(entry).Remove(expiry, slot);
            UpdateNextExpiry(entry);
        }
        table.Remove(hash, ref slot);
        return PackedFields.IsAlive(expiry, entry.Keyspace.Store.Now);
    }

    public static bool SetExpiry(in Entry entry, ReadOnlySpan<byte> name, long expiry)
    {
        uint handle = Table(entry).Find(name);
        if (handle == 0) return false;
        if (Table(entry).Read(handle).Number == expiry) return true;
        // A change of the expiry can change the form of the record, so the old value is copied before it is overwritten.
        using Scratch value = new(Table(entry).Read(handle).Value);
        Set(entry, name, value.Bytes, expiry);
        return true;
    }

    public static int RemoveExpired<TVisitor>(in Entry entry, int limit, ref TVisitor removed)
        where TVisitor : struct, IElementVisitor, allows ref struct
    {
        long now = entry.Keyspace.Store.Now;
        int count = 0;
        while (count < limit && Expiries(entry).First is { Time: > 0 } first && !PackedFields.IsAlive(first.Time, now))
        {
            MemberTable table = Table(entry);
            ReadOnlySpan<byte> name = table.Read(first.Handle).Name;
            removed.Visit(new Element(name));
            ulong hash = KeyHash.Of(name);
            Expiries(entry).Remove(first.Time, first.Handle);
            table.Remove(hash, ref table.Index.FindHandle(hash, first.Handle));
            count++;
        }
        // Also where none was removed: a field that was announced and could not be added leaves its time behind.
        UpdateNextExpiry(entry);
        return count;
    }

    public static TimeTree Expiries(in Entry entry) =>
        new(entry.Keyspace.Store.Arena, ref LargeValues.Root<HashRoot>(entry).Expiries);

    private static NumberForm FormOf(long expiry) => expiry == 0 ? NumberForm.None : NumberForm.Int64;

    /// <summary>Lowers the earliest expiry of the hash before a field gets this expiry.</summary>
    private static void Expect(in Entry entry, long expiry)
    {
        long next = entry.Record.NextFieldExpiry;
        if (next == 0 || expiry < next) entry.Keyspace.SetNextFieldExpiry(entry, expiry);
    }

    private static void UpdateNextExpiry(in Entry entry) =>
        entry.Keyspace.TrySetNextFieldExpiry(entry, Expiries(entry).First.Time);
}
