using RedisClone.Engine.Cluster.Bus;

namespace RedisClone.Engine.Cluster.State;

/// <summary>
/// The slots whose keys the primary of this replica removes: those of which the primary has told on its present link, and those that it
/// has lost without knowing it yet. A new link begins without any, because the primary may have restarted.
/// </summary>
internal sealed class ToldSlots
{
    private readonly SlotSet _told = new(), _lost = new();
    private BusLink? _link;

    public bool Contains(int slot) => _told.Contains(slot) || _lost.Contains(slot);

    /// <summary>Notes that a message has arrived on a link, and which slots the primary claims in it.</summary>
    public void Begin(BusLink link, ReadOnlySpan<byte> claimed)
    {
        // The primary itself tells what it removes as soon as it knows that it has lost a slot.
        _lost.IntersectWith(claimed);
        if (_link == link) return;
        _link = link;
        Clear();
    }

    /// <summary>Takes the set that the primary tells.</summary>
    public void Take(ReadOnlySpan<byte> slots) => _told.CopyFrom(slots);

    /// <summary>Notes a slot that another node has claimed and that the primary still claimed in its last message.</summary>
    public void NoteLost(int slot) => _lost.Add(slot);

    /// <summary>Forgets a slot that the primary has again.</summary>
    public void Remove(int slot)
    {
        _told.Remove(slot);
        _lost.Remove(slot);
    }

    /// <summary>Forgets everything, for another primary.</summary>
    public void Clear()
    {
        _told.Clear();
        _lost.Clear();
    }
}
