using System.Diagnostics;

namespace RedisClone.Storage.Memory;

/// <summary>The operations that a test can make fail.</summary>
[Flags]
internal enum FaultKinds
{
    /// <summary>An allocation, in the arena or on the managed heap.</summary>
    Allocation = 1,

    /// <summary>The start of an operation on a keyspace, a store or a value.</summary>
    Call = 2,
}

/// <summary>
/// Lets a test make the n-th allocation or storage call of a thread throw. Fault points exist in Debug builds only.
/// </summary>
internal static class FaultPoint
{
    [ThreadStatic] private static long s_left;
    [ThreadStatic] private static FaultKinds s_kinds;
    [ThreadStatic] private static bool s_stays;
    [ThreadStatic] private static int s_thrown;
    [ThreadStatic] private static Func<Exception>? s_make;

#if DEBUG
    public static bool Exist => true;
#else
    public static bool Exist => false;
#endif

    /// <summary>Whether a fault is still to be thrown.</summary>
    public static bool IsArmed => Exist && s_left > 0;

    /// <summary>
    /// Makes the <paramref name="nth"/> point of these kinds on this thread throw (1 is the next one). With
    /// <paramref name="stays"/>, every later point throws too. Without <paramref name="make"/>, the exception is an
    /// <see cref="OutOfMemoryException"/>.
    /// </summary>
    public static void Arm(long nth, FaultKinds kinds = FaultKinds.Allocation, Func<Exception>? make = null, bool stays = false)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(nth);
        (s_left, s_kinds, s_make, s_stays, s_thrown) = (nth, kinds, make, stays, 0);
    }

    /// <summary>Removes the fault. Returns true if it was thrown, false if fewer points were passed.</summary>
    public static bool Disarm()
    {
        (s_left, s_make) = (0, null);
        return s_thrown > 0;
    }

    /// <summary>Marks an allocation that follows.</summary>
    [Conditional("DEBUG")]
    public static void Allocation() => Pass(FaultKinds.Allocation);

    /// <summary>Marks the start of a storage call, before its first change.</summary>
    [Conditional("DEBUG")]
    public static void Call() => Pass(FaultKinds.Call);

    private static void Pass(FaultKinds kind)
    {
        if (s_left == 0 || (s_kinds & kind) == 0 || --s_left > 0) return;
        if (s_stays) s_left = 1;
        s_thrown++;
#pragma warning disable CA2201 // Callers must handle the runtime's own exception.
        throw s_make?.Invoke() ?? new OutOfMemoryException("A test made this allocation or call fail.");
#pragma warning restore CA2201
    }
}
