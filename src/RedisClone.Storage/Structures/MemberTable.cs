using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Structures;

/// <summary>The part of a <see cref="MemberTable"/> outside its buckets and records. All zero is an empty table.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct TableRoot
{
    public IndexRoot Index;

    /// <summary>Bytes of all member records.</summary>
    public long RecordBytes;
}

/// <summary>The members of a large hash, set or sorted set by name, each in a buffer of its own.</summary>
internal readonly ref struct MemberTable(Arena arena, ref TableRoot root)
{
    private readonly Arena _arena = arena;
    private readonly ref TableRoot _root = ref root;

    public long Count => Index.Count;

    /// <summary>All bytes that the table takes in the arena.</summary>
    public long Bytes => _root.RecordBytes + Index.Bytes;

    public HashIndex Index => new(_arena, ref _root.Index);

    /// <summary>The slot of a member's handle, or a null reference.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ref uint Find(ReadOnlySpan<byte> name, ulong hash) => ref Index.Find(hash, name, new MemberNames(_arena));

    /// <summary>The handle of a member, 0 if it is absent.</summary>
    public uint Find(ReadOnlySpan<byte> name)
    {
        ref uint slot = ref Find(name, KeyHash.Of(name));
        return Unsafe.IsNullRef(ref slot) ? 0 : slot;
    }

    public bool Contains(ReadOnlySpan<byte> name) => Find(name) != 0;

    public MemberRecord Read(uint handle) => new(_arena.FromStart(handle));

    /// <summary>Prefetches a member.</summary>
    public void Prefetch(uint handle) => _arena.Prefetch(handle, lines: 1);

    /// <summary>Adds a member. The caller knows that it is absent.</summary>
    public uint Add(ReadOnlySpan<byte> name, ulong hash, NumberForm form = NumberForm.None, long number = 0)
    {
        uint handle = Take(MemberRecord.SizeOf(name.Length, form, null));
        MemberRecord.Write(_arena.FromStart(handle), name, form, number, null);
        Enter(hash, handle);
        return handle;
    }

    /// <summary>Adds a member with a value. The caller knows that it is absent.</summary>
    public uint Add(ReadOnlySpan<byte> name, ulong hash, NumberForm form, long number, scoped ReadOnlySpan<byte> value)
    {
        uint handle = Take(MemberRecord.SizeOf(name.Length, form, value.Length));
        value.CopyTo(MemberRecord.Write(_arena.FromStart(handle), name, form, number, value.Length));
        Enter(hash, handle);
        return handle;
    }

    /// <summary>
    /// Prepares a record of a member with another number, which the caller then publishes or discards. It is the member's own
    /// record if the form of the number stays the same; otherwise it is a new one.
    /// </summary>
    public uint Prepare(uint handle, NumberForm form, long number)
    {
        MemberRecord old = Read(handle);
        if (old.Form == form) return handle;
        uint prepared = Take(MemberRecord.SizeOf(old.Name.Length, form, null));
        MemberRecord.Write(_arena.FromStart(prepared), old.Name, form, number, null);
        return prepared;
    }

    /// <summary>
    /// Prepares a record with a value, whose content the caller writes. It is the member's own record if its buffer has the right
    /// size; otherwise it is a new one.
    /// </summary>
    public uint Prepare(uint handle, int nameLength, NumberForm form, int valueLength)
    {
        int size = MemberRecord.SizeOf(nameLength, form, valueLength);
        return Arena.RoundUp(size) == _arena.Capacity(handle) ? handle : Take(size);
    }

    /// <summary>Writes a record with a value. Neither name nor value may lie in the table.</summary>
    public void Write(uint handle, ReadOnlySpan<byte> name, NumberForm form, long number, scoped ReadOnlySpan<byte> value) =>
        value.CopyTo(MemberRecord.Write(_arena.FromStart(handle), name, form, number, value.Length));

    /// <summary>Puts a prepared record into the slot of its member and frees the old record.</summary>
    public void Publish(ref uint slot, uint prepared)
    {
        if (prepared == slot) return;
        Free(slot);
        slot = prepared;
    }

    /// <summary>Frees a prepared record that is not used.</summary>
    public void Discard(uint handle, uint prepared)
    {
        if (prepared != handle) Free(prepared);
    }

    public void Remove(ulong hash, ref uint slot)
    {
        Free(slot);
        Index.Remove(hash, ref slot);
    }

    /// <summary>Frees the records of some buckets of an abandoned table. Returns true when everything is freed.</summary>
    public bool Drain(ref uint cursor, int buckets)
    {
        var owner = new RecordOwner(_arena);
        return Index.Drain(ref cursor, buckets, ref owner);
    }

    /// <summary>Compacts one bucket. The mover updates all other references to a member's handle.</summary>
    public void Compact<TMover>(uint bucket, ref TMover mover) where TMover : struct, IRecordMover, allows ref struct =>
        Index.CompactBucket(bucket, ref mover);

    private void Enter(ulong hash, uint handle)
    {
        if (!Unsafe.IsNullRef(ref Index.TryAdd(hash, handle))) return;
        Free(handle);
        Arena.ThrowOutOfMemory();
    }

    private uint Take(int size)
    {
        uint handle = _arena.Allocate(size);
        _root.RecordBytes += _arena.Capacity(handle);
        return handle;
    }

    private void Free(uint handle)
    {
        _root.RecordBytes -= _arena.Capacity(handle);
        _arena.Free(handle);
    }

    private readonly struct MemberNames(Arena arena) : IRecordKeys
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public bool Matches(uint handle, ReadOnlySpan<byte> key) =>
            MemberRecord.NameOf(arena.FromStart(handle)).SequenceEqual(key);
    }

    private readonly struct RecordOwner(Arena arena) : IScanVisitor
    {
        public void Visit(uint handle) => arena.Free(handle);
    }
}
