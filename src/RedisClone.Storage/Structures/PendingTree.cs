using System.Runtime.InteropServices;

namespace RedisClone.Storage.Structures;

/// <summary>
/// A pending entry of a group: its consumer, the time of its last delivery (below zero: its place among the entries given back),
/// and the number of deliveries.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct PendingItem(StreamId Id, long Order, long Deliveries, uint Consumer) : ITreeItem<PendingItem>
{
    public static long WeightOf(ReadOnlySpan<PendingItem> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<PendingItem> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>The identifier of an entry that is pending with one consumer.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct PendingId(StreamId Id) : ITreeItem<PendingId>
{
    public static long WeightOf(ReadOnlySpan<PendingId> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<PendingId> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>A pending entry in the order of claiming.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct PendingTime(long Order, StreamId Id) : ITreeItem<PendingTime>
{
    public static long WeightOf(ReadOnlySpan<PendingTime> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<PendingTime> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>A probe for an identifier in the trees of pending entries.</summary>
internal readonly struct BeforeId(StreamId id) : ITreeProbe<PendingItem>, ITreeProbe<PendingId>
{
    public bool IsAfter(in PendingItem item) => item.Id < id;

    public bool IsAfter(in PendingId item) => item.Id < id;
}

internal readonly struct BeforeTime(PendingTime sought) : ITreeProbe<PendingTime>
{
    public bool IsAfter(in PendingTime item) =>
        item.Order < sought.Order || item.Order == sought.Order && item.Id < sought.Id;
}
