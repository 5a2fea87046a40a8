using RedisClone.Engine.Cluster.State;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Redirects;

/// <summary>
/// The slots whose keys this node serves without a further look: it owns the slot, does not migrate it, and the cluster works. Commands
/// read it without a lock; it is written under the lock of the cluster.
/// </summary>
internal sealed class ServedSlots
{
    private readonly bool[] _isServed = new bool[KeySlot.Count], _isForeign = new bool[KeySlot.Count];

    public bool Contains(int slot) => Volatile.Read(ref _isServed[slot]);

    /// <summary>Whether another node serves a slot, so that keys of it are hidden here. They neither expire nor are evicted.</summary>
    public bool IsForeign(int slot) => Volatile.Read(ref _isForeign[slot]);

    /// <summary>Takes over the state; true if a slot is not served any more.</summary>
    /// <param name="state">The cluster.</param>
    /// <param name="mayGain">Whether further slots are served. They are not before nodes.conf has them.</param>
    public bool Update(ClusterState state, bool mayGain)
    {
        bool isLost = false;
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            bool isServed = state.IsOk && state.OwnerOf(slot) == state.Myself && state.Migrating[slot] is null && state.Unsettled?.Contains(slot) != true;
            Volatile.Write(ref _isForeign[slot], state.IsForeign(slot));
            isLost |= _isServed[slot] && !isServed;
            Volatile.Write(ref _isServed[slot], isServed && (mayGain || _isServed[slot]));
        }
        return isLost;
    }
}
