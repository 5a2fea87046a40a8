using System.Buffers;
using System.Runtime.CompilerServices;

namespace RedisClone.Memory;

/// <summary>
/// Temporary arrays from the shared pool. In a small heap, long ones are not kept: the pool drops an array that is not used after half a
/// minute at the earliest, and the arrays that a few threads keep would fill such a heap.
/// </summary>
public static class RentedArrays
{
    private static readonly int s_mostKept = HeapLimit.IsSmall ? 64 * 1024 : int.MaxValue;

    public static T[] Rent<T>(int length) =>
        (long)length * Unsafe.SizeOf<T>() <= s_mostKept ? ArrayPool<T>.Shared.Rent(length) : GC.AllocateUninitializedArray<T>(length);

    public static void Return<T>(T[] array)
    {
        if ((long)array.Length * Unsafe.SizeOf<T>() <= s_mostKept) ArrayPool<T>.Shared.Return(array);
    }
}
