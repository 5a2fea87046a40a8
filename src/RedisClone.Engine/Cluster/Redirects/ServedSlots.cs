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
    private readonly bool[] _isOwned = new bool[KeySlot.Count];     // served here, perhaps while its keys migrate

    public bool Contains(int slot) => Volatile.Read(ref _isServed[slot]);

    /// <summary>Whether another node serves a slot, so that keys of it are hidden here. They neither expire nor are evicted.</summary>
    public bool IsForeign(int slot) => Volatile.Read(ref _isForeign[slot]);

    /// <summary>Takes over the state; true if a slot is not served any more. Clients may still wait for keys of a slot that migrates.</summary>
    /// <param name="state">The cluster.</param>
    /// <param name="mayGain">Whether further slots are served. They are not before nodes.conf has them.</param>
    public bool Update(ClusterState state, bool mayGain)
    {
        bool isLost = false;
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            bool isOwned = state.IsOk && state.OwnerOf(slot) == state.Myself && state.Unsettled?.Contains(slot) != true;
            bool isServed = isOwned && state.Migrating[slot] is null;
            Volatile.Write(ref _isForeign[slot], state.IsForeign(slot));
            isLost |= _isOwned[slot] && !isOwned;
            _isOwned[slot] = isOwned;
            Volatile.Write(ref _isServed[slot], isServed && (mayGain || _isServed[slot]));
        }
        return isLost;
    }
}
