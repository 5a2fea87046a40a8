using System.Buffers;

namespace RedisClone.Protocol;

/// <summary>The pooled arrays of requests that span segments.</summary>
public static class RequestBuffers
{
    /// <summary>
    /// The largest array that is pooled. The pool keeps arrays for many seconds, so a process with a small heap sets a limit
    /// before it serves clients.
    /// </summary>
    public static int LargestPooled { get; set; } = int.MaxValue;

    internal static byte[] Rent(int size) =>
        size <= LargestPooled ? ArrayPool<byte>.Shared.Rent(size) : GC.AllocateUninitializedArray<byte>(size);

    internal static void Return(byte[] buffer)
    {
        if (buffer.Length <= LargestPooled) ArrayPool<byte>.Shared.Return(buffer);
    }
}
