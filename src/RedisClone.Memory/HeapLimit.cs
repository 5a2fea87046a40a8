namespace RedisClone.Memory;

/// <summary>
/// The hard limit of the managed heap: DOTNET_GCHeapHardLimit, or the part of a container's memory that the runtime chooses.
/// </summary>
public static class HeapLimit
{
    private const string Setting = "GCHeapHardLimit";
    private const long SmallHeap = 1L << 30;

    /// <summary>The limit in bytes, or 0 if there is none.</summary>
    public static long Bytes { get; } = Read();

    /// <summary>
    /// Whether the limit is less than a gigabyte. In such a heap, blocking collections are short, and a concurrent collection
    /// would let the heap grow while it runs.
    /// </summary>
    public static bool IsSmall => Bytes is > 0 and < SmallHeap;

    /// <summary>The given part of the limit, but at most <paramref name="most"/>, which applies without a limit.</summary>
    public static long Part(int divisor, long most) => Bytes > 0 ? Math.Min(Bytes / divisor, most) : most;

    private static long Read() =>
        GC.GetConfigurationVariables().TryGetValue(Setting, out object? value) && value is long and > 0
            ? GC.GetGCMemoryInfo().TotalAvailableMemoryBytes
            : 0;
}
