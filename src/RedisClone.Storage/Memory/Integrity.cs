namespace RedisClone.Storage.Memory;

/// <summary>Reports violated invariants of the storage's structures.</summary>
internal static class Integrity
{
    public static void Require(bool holds, string invariant)
    {
        if (!holds) throw new InvalidOperationException($"An invariant of the storage does not hold: {invariant}.");
    }
}
