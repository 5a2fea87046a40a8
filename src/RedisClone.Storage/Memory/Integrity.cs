namespace RedisClone.Storage.Memory;

/// <summary>Reports violated invariants. Only the checks that tests run over whole stores use it.</summary>
internal static class Integrity
{
    public static void Require(bool holds, string invariant)
    {
        if (!holds) throw new InvalidOperationException($"An invariant of the storage does not hold: {invariant}.");
    }
}
