using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>
/// The lists of field names that hashes of a store share. Each list (a shape) is stored once, in the arena, as long as a hash
/// uses it.
/// </summary>
/// <remarks>
/// A shape is a buffer: the number of hashes that use it, the number of names, the length of the names in bytes, and the names as
/// packed entries.
/// </remarks>
internal sealed class HashShapes(Arena arena)
{
    private const int UsersAt = 0, CountAt = 4, LengthAt = 8, NamesAt = 12;

    private const int Remembered = 64;

    private readonly ulong[] _seen = new ulong[Remembered];
    private IndexRoot _root;
    private long _buffers;

    /// <summary>Bytes that all shapes take in the arena.</summary>
    public long Bytes => _buffers + Index.Bytes;

    internal HashIndex Index => new(arena, ref _root);

    /// <summary>Returns the shape of these names, and counts one more hash that uses it.</summary>
    public uint Acquire(ReadOnlySpan<byte> names, int count)
    {
        ulong hash = KeyHash.Of(names);
        ref uint slot = ref Index.Find(hash, names, new ShapeNames(arena));
        if (!Unsafe.IsNullRef(ref slot))
        {
            Share(slot);
            return slot;
        }
        uint shape = arena.Allocate(NamesAt + names.Length);
        Span<byte> bytes = arena.Bytes(shape, NamesAt + names.Length);
        BinaryPrimitives.WriteInt32LittleEndian(bytes[UsersAt..], 1);
        BinaryPrimitives.WriteInt32LittleEndian(bytes[CountAt..], count);
        BinaryPrimitives.WriteInt32LittleEndian(bytes[LengthAt..], names.Length);
        names.CopyTo(bytes[NamesAt..]);
        if (Unsafe.IsNullRef(ref Index.TryAdd(hash, shape)))
        {
            arena.Free(shape);
            Arena.ThrowOutOfMemory();
        }
        _buffers += arena.Capacity(shape);
        return shape;
    }

    /// <summary>Whether a shape for these names pays off: there is one, or the names were seen recently.</summary>
    public bool Recur(ReadOnlySpan<byte> names)
    {
        ulong hash = KeyHash.Of(names);
        if (!Unsafe.IsNullRef(ref Index.Find(hash, names, new ShapeNames(arena)))) return true;
        ref ulong seen = ref _seen[hash % Remembered];
        bool again = seen == hash;
        seen = hash;
        return again;
    }

    /// <summary>Counts one more hash that uses a shape.</summary>
    public void Share(uint shape) => Users(shape)++;

    /// <summary>Counts one hash less that uses a shape. The last one frees the shape.</summary>
    public void Release(uint shape)
    {
        if (--Users(shape) > 0) return;
        ulong hash = KeyHash.Of(Names(shape));
        Index.Remove(hash, ref Index.FindHandle(hash, shape));
        _buffers -= arena.Capacity(shape);
        arena.Free(shape);
    }

    /// <summary>The names of a shape, as packed entries.</summary>
    public ReadOnlySpan<byte> Names(uint shape) => NamesOf(arena, shape);

    public int Count(uint shape) => BinaryPrimitives.ReadInt32LittleEndian(arena.FromStart(shape)[CountAt..]);

    internal ref int Users(uint shape) => ref Unsafe.As<byte, int>(ref arena.Bytes(shape, sizeof(int))[UsersAt]);

    private static ReadOnlySpan<byte> NamesOf(Arena arena, uint shape)
    {
        ReadOnlySpan<byte> bytes = arena.FromStart(shape);
        return bytes.Slice(NamesAt, BinaryPrimitives.ReadInt32LittleEndian(bytes[LengthAt..]));
    }

    private readonly struct ShapeNames(Arena arena) : IRecordKeys
    {
        public bool Matches(uint handle, ReadOnlySpan<byte> key) => NamesOf(arena, handle).SequenceEqual(key);
    }
}
