namespace RedisClone.Storage.Memory;

/// <summary>What the checks of the storage's structures throw; the tests walk whole stores with them.</summary>
internal static class Integrity
{
    public static void Require(bool holds, string invariant)
    {
        if (!holds) throw new InvalidOperationException($"An invariant of the storage does not hold: {invariant}.");
    }
}
