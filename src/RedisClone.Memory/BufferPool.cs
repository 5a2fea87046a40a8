using System.Numerics;

namespace RedisClone.Memory;

/// <summary>
/// Pinned byte arrays by power-of-two size, last in first out, so that the array handed out is the one the cache still has. Each
/// loop has one for itself, without locks; behind them stands a shared one, which takes a loop's surplus and serves threads that
/// are no loop. Both keep a bounded amount; the rest is the garbage collector's.
/// </summary>
public sealed class BufferPool
{
    /// <summary>For messages: a loop may have as many of these in use as it has subscribers.</summary>
    public const int SmallestSize = 1024;

    /// <summary>For requests and replies.</summary>
    public const int UsualSize = 16 * 1024;

    /// <summary>For a value of a megabyte and what is around it.</summary>
    private const int LargestPooled = 2 * 1024 * 1024;

    /// <summary>What is kept of a size, and two of it at least: who sends one long reply after the other is served by these.</summary>
    private const int KeptPerSize = 1024 * 1024;
    private const int KeptOfUsual = 4 * 1024 * 1024;

    /// <summary>Arrays of this size, once no pool keeps them, do not wait for the collector.</summary>
    private const int LeastReleased = 1024 * 1024;

    private static readonly Lock SharedGate = new();
    private static readonly BufferPool Shared = new();

    private Stack<byte[]>[] _free = CreateStacks();

    public byte[] Rent(int size) => TryTake(size) ?? RentShared(size);

    /// <inheritdoc cref="ReturnShared"/>
    public void Return(byte[] buffer, bool ofMany = false)
    {
        if (!TryKeep(buffer)) ReturnShared(buffer, ofMany);
    }

    /// <summary>
    /// Lets go of all that is kept; any thread may. One array left in a piece of memory keeps all of it from the system, for it cannot be moved. Whoever is
    /// about to keep one where nobody looks any more has only lost it.
    /// </summary>
    public void Clear() => Volatile.Write(ref _free, CreateStacks());

    public static void ClearShared() => Shared.Clear();

    public static byte[] RentShared(int size)
    {
        if (size <= LargestPooled)
        {
            lock (SharedGate)
            {
                if (Shared.TryTake(size) is { } pooled) return pooled;
            }
        }
        return GC.AllocateUninitializedArray<byte>(SizeFor(size), pinned: true);
    }

    /// <summary>Nobody uses it any more. What no pool keeps is the system's at once where it is large, or one of many: the collector would find it late and keep it for later.</summary>
    public static void ReturnShared(byte[] buffer, bool ofMany = false)
    {
        lock (SharedGate)
        {
            if (Shared.TryKeep(buffer)) return;
        }
        if (ofMany || buffer.Length >= LeastReleased) MemoryHints.Release(buffer, 0, buffer.Length);
    }

    private static int SizeFor(int size) => size switch
    {
        <= SmallestSize => SmallestSize,
        <= 1 << 30 => (int)BitOperations.RoundUpToPowerOf2((uint)size),
        _ => Array.MaxLength,
    };

    private static int IndexOf(int size) => BitOperations.Log2((uint)size / SmallestSize);

    private static Stack<byte[]>[] CreateStacks()
    {
        var stacks = new Stack<byte[]>[IndexOf(LargestPooled) + 1];
        // With room for all that it may keep: giving a buffer back needs no memory.
        for (int i = 0; i < stacks.Length; i++) stacks[i] = new Stack<byte[]>(KeptBytes(SmallestSize << i) / (SmallestSize << i));
        return stacks;
    }

    private byte[]? TryTake(int size) =>
        size <= LargestPooled && _free[IndexOf(SizeFor(size))].TryPop(out byte[]? buffer) ? buffer : null;

    private static int KeptBytes(int size) => size == UsualSize ? KeptOfUsual : Math.Max(KeptPerSize, 2 * size);

    private bool TryKeep(byte[] buffer)
    {
        if (buffer.Length > LargestPooled) return false;
        Stack<byte[]> stack = _free[IndexOf(buffer.Length)];
        if ((long)stack.Count * buffer.Length >= KeptBytes(buffer.Length)) return false;
        Poison(buffer);
        stack.Push(buffer);
        return true;
    }

    [System.Diagnostics.Conditional("DEBUG")]
    private static void Poison(byte[] buffer) => buffer.AsSpan().Fill(0xDB);
}
