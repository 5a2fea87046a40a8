using System.Diagnostics;

namespace RedisClone.Storage.Memory;

/// <summary>Where a test can make the storage fail.</summary>
[Flags]
internal enum FaultKinds
{
    /// <summary>An allocation, in the arena or from the collector.</summary>
    Allocation = 1,

    /// <summary>The beginning of an operation on a keyspace, a store or a value.</summary>
    Call = 2,
}

/// <summary>
/// Lets a test make the n-th allocation or storage call of a thread throw. The calls of this class exist in Debug builds only: a
/// Release build has none of these points.
/// </summary>
internal static class FaultPoint
{
    [ThreadStatic] private static long s_left;
    [ThreadStatic] private static FaultKinds s_kinds;
    [ThreadStatic] private static bool s_stays;
    [ThreadStatic] private static int s_thrown;
    [ThreadStatic] private static Func<Exception>? s_make;

    /// <summary>Whether this build has fault points.</summary>
#if DEBUG
    public static bool Exist => true;
#else
    public static bool Exist => false;
#endif

    /// <summary>Whether the fault has still to come, or comes again.</summary>
    public static bool IsArmed => Exist && s_left > 0;

    /// <summary>
    /// Makes the <paramref name="nth"/> point (1 is the next one) of these kinds on this thread throw: once, or with
    /// <paramref name="stays"/> every one from there on. Without <paramref name="make"/> an <see cref="OutOfMemoryException"/> is
    /// thrown.
    /// </summary>
    public static void Arm(long nth, FaultKinds kinds = FaultKinds.Allocation, Func<Exception>? make = null, bool stays = false)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(nth);
        (s_left, s_kinds, s_make, s_stays, s_thrown) = (nth, kinds, make, stays, 0);
    }

    /// <summary>Removes the fault; returns true if it was thrown, false if fewer points were passed.</summary>
    public static bool Disarm()
    {
        (s_left, s_make) = (0, null);
        return s_thrown > 0;
    }

    /// <summary>An allocation follows.</summary>
    [Conditional("DEBUG")]
    public static void Allocation() => Pass(FaultKinds.Allocation);

    /// <summary>A call of the storage begins, and has changed nothing yet.</summary>
    [Conditional("DEBUG")]
    public static void Call() => Pass(FaultKinds.Call);

    private static void Pass(FaultKinds kind)
    {
        if (s_left == 0 || (s_kinds & kind) == 0 || --s_left > 0) return;
        if (s_stays) s_left = 1;
        s_thrown++;
#pragma warning disable CA2201 // The runtime's own exception is what the callers must be able to take.
        throw s_make?.Invoke() ?? new OutOfMemoryException("A test made this allocation or call fail.");
#pragma warning restore CA2201
    }
}
