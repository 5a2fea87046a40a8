using System.Diagnostics;
using System.Runtime;

namespace RedisClone.Memory;

/// <summary>
/// Makes room in a heap with a hard limit after an allocation has failed. The heap may be full of free memory that is of no use
/// to the allocation: free regions of another kind, holes between objects, and spare buffers. An aggressive collection compacts
/// the heap and returns all free regions. Thread-safe.
/// </summary>
public static class HeapRelief
{
    /// <summary>Between two collections pass at least this many times the duration of the last one: they take a 20th of the time.</summary>
    private const int Rest = 20;

    private static readonly TimeSpan LeastRest = TimeSpan.FromMilliseconds(50);

    /// <summary>Seconds that <see cref="Relieve"/> waits at most.</summary>
    private const long LongestWait = 5;

    /// <summary>A patient thread waits 10 ms longer after each attempt, two seconds in all.</summary>
    private const int PatientAttempts = 20;

    private static readonly Lock Gate = new();

    [ThreadStatic]
    private static bool t_isPatient;

    [ThreadStatic]
    private static Action? t_makeRoom;

    private static long s_mayCollectAt;

    /// <summary>
    /// Releases spare buffers that the process keeps for later use. It is called when memory is missing, and may throw for lack of
    /// memory. Null if there are none.
    /// </summary>
    public static Action? DropSpares { get; set; }

    /// <summary>
    /// Lets allocations of this thread try again for some seconds, until the result is disposed of: for a thread that loads data, which has
    /// fitted into the heap before and for which no client waits.
    /// </summary>
    /// <param name="makeRoom">Releases memory that a collection cannot free, before each further attempt. It may throw for lack of memory.</param>
    public static Patience BePatient(Action? makeRoom = null)
    {
        var before = new Patience(t_isPatient, t_makeRoom);
        (t_isPatient, t_makeRoom) = (true, makeRoom);
        return before;
    }

    /// <summary>
    /// Called after a failed allocation, on any thread. Collects unless another collection has just ended. Returns whether the
    /// caller should try the allocation once more.
    /// </summary>
    public static bool TryRelieve()
    {
        if (HeapLimit.Bytes == 0) return false;
        try
        {
            lock (Gate)
            {
                // A thread that waited for the collection of another one tries again too.
                long started = Stopwatch.GetTimestamp();
                if (started < s_mayCollectAt) return true;
                Collect();
                long ended = Stopwatch.GetTimestamp();
                s_mayCollectAt = ended + Math.Max(Rest * (ended - started), LeastRest.Ticks * Stopwatch.Frequency / TimeSpan.TicksPerSecond);
            }
            return true;
        }
        catch (OutOfMemoryException)
        {
            // Even the lock, or the start of the collection, may need memory.
            return false;
        }
    }

    /// <summary>Waits until a collection is permitted, and collects. For background work whose attempts fail one after the other.</summary>
    public static void Relieve()
    {
        long rest = Math.Clamp(Volatile.Read(ref s_mayCollectAt) - Stopwatch.GetTimestamp(), 0, LongestWait * Stopwatch.Frequency);
        Thread.Sleep((int)Math.Ceiling(rest * 1000.0 / Stopwatch.Frequency));
        TryRelieve();
    }

    /// <summary>Allocates an array that is not cleared. If there is no memory, it makes room and tries once more, or more often.</summary>
    public static byte[] Allocate(int size, bool pinned = false) =>
        pinned ? Get<byte[], PinnedArray>(size) : Get<byte[], UnclearedArray>(size);

    /// <summary>Rents an array of the shared pool, with the same attempts.</summary>
    public static byte[] Rent(int size) => Get<byte[], PooledArray>(size);

    /// <summary>Resizes an array, with the same attempts.</summary>
    public static void Resize<T>(ref T[] array, int length)
    {
        T[] larger = Get<T[], ClearedArray<T>>(length);
        array.AsSpan(0, Math.Min(array.Length, length)).CopyTo(larger);
        array = larger;
    }

    private static bool MayTryAgain(int attempt)
    {
        if (attempt == (t_isPatient ? PatientAttempts : 1)) return false;
        if (t_makeRoom is { } makeRoom)
        {
            // What makes room has no room made for it.
            using Patience patience = BePatient();
            Attempt(makeRoom);
        }
        return TryRelieve();
    }

    private static T Get<T, TSource>(int size) where TSource : ISource<T>
    {
        for (int attempt = 0; ; attempt++)
        {
            try
            {
                return TSource.Make(size);
            }
            catch (OutOfMemoryException) when (MayTryAgain(attempt))
            {
                Thread.Sleep(10 * attempt);
            }
        }
    }

    /// <summary>Ends what <see cref="BePatient"/> began.</summary>
    public readonly ref struct Patience(bool wasPatient, Action? madeRoom)
    {
        public void Dispose() => (t_isPatient, t_makeRoom) = (wasPatient, madeRoom);
    }

    /// <summary>A kind of allocation. It is a type and not a delegate, because a delegate takes memory.</summary>
    private interface ISource<T>
    {
        static abstract T Make(int size);
    }

    private readonly struct UnclearedArray : ISource<byte[]>
    {
        public static byte[] Make(int size) => GC.AllocateUninitializedArray<byte>(size);
    }

    private readonly struct PinnedArray : ISource<byte[]>
    {
        public static byte[] Make(int size) => GC.AllocateUninitializedArray<byte>(size, pinned: true);
    }

    private readonly struct PooledArray : ISource<byte[]>
    {
        public static byte[] Make(int size) => RentedArrays.Rent<byte>(size);
    }

    private readonly struct ClearedArray<T> : ISource<T[]>
    {
        public static T[] Make(int size) => new T[size];
    }

    private static void Attempt(Action? release)
    {
        try
        {
            release?.Invoke();
        }
        catch (OutOfMemoryException)
        {
            // The collection helps without it.
        }
    }

    private static void Collect()
    {
        Attempt(DropSpares);
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    }
}
