using System.Diagnostics;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster;

/// <summary>
/// What commands on the keys of each slot have cost while cluster-slot-stats-enabled was set. A command of a script is not counted,
/// because the script is.
/// </summary>
internal sealed class SlotUse
{
    private readonly SlotFigures[] _slots = new SlotFigures[KeySlot.Count];

    /// <summary>
    /// Adds a command. The caller holds the shards of its keys, so a slot has one writer at a time. All keys of a command have the same
    /// slot.
    /// </summary>
    public void Note(in CommandContext c, long ticks, long replyBytes)
    {
        int slot = SlotOf(c);
        if (slot < 0) return;
        ref SlotFigures figures = ref _slots[slot];
        figures.Ticks += ticks;
        figures.BytesIn += c.Args.WireLength;
        figures.BytesOut += replyBytes;
    }

    public SlotFigures Of(int slot) => _slots[slot];

    public void Reset() => Array.Clear(_slots);

    /// <summary>Forgets the slots that this node and its replicas do not have any more.</summary>
    public void KeepOwned(ClusterState state)
    {
        for (int slot = 0; slot < KeySlot.Count; slot++)
            if (state.OwnerOf(slot) != state.Myself.Leader) _slots[slot] = default;
    }

    private static int SlotOf(in CommandContext c)
    {
        if (c.Row.HasSingleKey) return KeySlot.OfHash(c.HashOf(c.Row.FirstKey));
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        int slot = c.Row.CollectKeys(c.Args, ref positions) && positions.Count > 0 ? KeySlot.Of(c.Args[positions[0]]) : -1;
        positions.Dispose();
        return slot;
    }
}

/// <summary>The cost of the commands on the keys of a slot: time, and bytes of requests and replies.</summary>
internal record struct SlotFigures
{
    public long Ticks, BytesIn, BytesOut;

    public readonly long Microseconds => (long)(Ticks * (1e6 / Stopwatch.Frequency));
}
