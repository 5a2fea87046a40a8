using System.Numerics;
using System.Runtime.CompilerServices;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The size classes of small buffers: steps of 8 bytes up to 128, then eight steps per doubling up to 8 KB. Rounding wastes at
/// most a ninth of a buffer. Larger buffers are whole system pages.
/// </summary>
internal static class SizeClasses
{
    public const int MaxSmall = 8192;
    private const int LinearMax = 128;
    private const int LinearCount = LinearMax / 8;

    /// <summary>Number of classes. They are numbered from 1; 0 means none.</summary>
    public const int Count = LinearCount + 6 * 8;

    private static readonly int[] Sizes = BuildSizes();

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int ClassOf(int size)
    {
        if (size <= LinearMax) return Math.Max(1, (size + 7) >> 3);
        int log = BitOperations.Log2((uint)(size - 1));              // 7 for 129..256
        return LinearCount + ((log - 7) << 3) + (((size - 1) >> (log - 3)) & 7) + 1;
    }

    public static int SizeOf(int sizeClass) => Sizes[sizeClass];

    /// <summary>Bytes of a slab of a class.</summary>
    public static int SlabBytes(int sizeClass) => Sizes[sizeClass] <= 1024 ? 32 * 1024 : 64 * 1024;

    private static int[] BuildSizes()
    {
        int[] sizes = new int[Count + 1];
        for (int i = 1; i <= LinearCount; i++) sizes[i] = i * 8;
        for (int i = LinearCount + 1; i <= Count; i++)
        {
            int step = i - LinearCount - 1;
            int baseSize = LinearMax << (step >> 3);
            sizes[i] = baseSize + (baseSize >> 3) * ((step & 7) + 1);
        }
        return sizes;
    }
}
