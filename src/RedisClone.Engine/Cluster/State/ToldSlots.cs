using RedisClone.Engine.Cluster.Bus;

namespace RedisClone.Engine.Cluster.State;

/// <summary>Slots of which another node has told on one link. A new link begins without any, because the node may have restarted.</summary>
internal sealed class ToldSlots
{
    private BusLink? _link;

    public SlotSet Slots { get; } = new();

    /// <summary>Notes that a message has arrived on a link.</summary>
    public void Begin(BusLink link)
    {
        if (_link == link) return;
        _link = link;
        Slots.Clear();
    }
}
