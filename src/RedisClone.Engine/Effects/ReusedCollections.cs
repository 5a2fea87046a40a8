namespace RedisClone.Engine.Effects;

/// <summary>Empties collections that a thread uses again and again. One large unit must not keep its room for ever.</summary>
internal static class ReusedCollections
{
    private const int KeptCapacity = 1024;

    public static void Reuse<T>(this List<T> list)
    {
        list.Clear();
        if (list.Capacity > KeptCapacity) list.Capacity = 0;
    }

    public static void Reuse<TKey, TValue>(this Dictionary<TKey, TValue> map)
        where TKey : notnull
    {
        map.Clear();
        if (map.Capacity <= KeptCapacity) return;
        try
        {
            map.TrimExcess();
        }
        catch (OutOfMemoryException)
        {
            // The next large unit uses the room.
        }
    }
}
