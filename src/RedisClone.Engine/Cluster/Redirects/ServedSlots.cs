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
    private readonly bool[] _isHere = new bool[KeySlot.Count];      // clients may wait for keys of the slot

    public bool Contains(int slot) => Volatile.Read(ref _isServed[slot]);

    /// <summary>Whether another node serves a slot, so that keys of it are hidden here. They neither expire nor are evicted.</summary>
    public bool IsForeign(int slot) => Volatile.Read(ref _isForeign[slot]);

    /// <summary>
    /// Takes over the state; true if clients may not wait any more for the keys of a slot. They may while it migrates or is imported, and at
    /// a replica while its primary has the slot.
    /// </summary>
    /// <param name="state">The cluster.</param>
    /// <param name="mayGain">Whether further slots are served. They are not before nodes.conf has them.</param>
    public bool Update(ClusterState state, bool mayGain)
    {
        bool isLost = false;
        ClusterNode myself = state.Myself;
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            bool isOwned = state.IsOk && state.OwnerOf(slot) == myself && state.Unsettled?.Contains(slot) != true;
            bool isServed = isOwned && state.Migrating[slot] is null;
            Volatile.Write(ref _isForeign[slot], state.IsForeign(slot));
            bool isHere = isOwned || state.IsOk && (state.Importing[slot] is not null || myself.IsReplica && state.OwnerOf(slot) == myself.Primary);
            isLost |= _isHere[slot] && !isHere;
            _isHere[slot] = isHere;
            Volatile.Write(ref _isServed[slot], isServed && (mayGain || _isServed[slot]));
        }
        return isLost;
    }
}
