using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>Removes the keys of slots that another node serves, in small slices between the commands of clients.</summary>
internal sealed class SlotDrop(ServerCore server, ClusterMember cluster)
{
    private const int KeysPerSlice = 128;

    /// <summary>The keys that are listed at once. Each list begins at the first bucket of the slot.</summary>
    private const int KeysPerList = 64 * KeysPerSlice;

    private static readonly TimeSpan RetryPause = TimeSpan.FromSeconds(1);

    private readonly Lock _gate = new();
    private SlotSet? _next;             // what the running thread removes next
    private bool _isRunning;

    /// <summary>The slots whose keys a run has removed.</summary>
    public RemovedSlots Removed { get; } = new(server, cluster);

    /// <summary>
    /// Removes the keys on a thread of its own: the removal of many keys would leave a small pool no thread for commands whose shard is busy,
    /// for half a second. There is one at a time, because redis-cli moves a thousand slots one by one in seconds.
    /// </summary>
    public void Start(SlotSet slots)
    {
        lock (_gate)
        {
            (_next ??= new SlotSet()).UnionWith(slots);
            Removed.Forget(slots);
            if (_isRunning) return;
            new Thread(RunAll) { IsBackground = true, Name = "slot drop" }.Start();
            _isRunning = true;
        }
    }

    /// <summary>Removes the keys and returns when they are gone. The caller holds no shard, and not the lock of the cluster.</summary>
    public void Run(SlotSet slots)
    {
        List<int> occupied = Occupied(slots).FindAll(MayDrop);
        if (occupied.Count > 0) server.Log.LogInformation("{Count} slots that another node serves have keys here; the keys are removed", occupied.Count);
        foreach (int slot in occupied)
        {
            var shard = ShardSet.Of(server.Shards.IndexOf(KeySlot.HashOf(slot)));
            List<byte[]> keys = [];
            do
            {
                new HeldAction(server.Shards, () => keys = MayDrop(slot) ? SlotKeys.List(server, slot, KeysPerList) : []).RunAndWait(shard);
                foreach (byte[][] slice in keys.Chunk(KeysPerSlice))
                {
                    while (server.Pause.IsOn || server.IsDiskBehind) Thread.Sleep(Limits.DiskPatience);
                    new HeldAction(server.Shards, () =>
                    {
                        if (MayDrop(slot)) SlotKeys.Remove(server, slot, slice);
                    }).RunAndWait(shard);
                    if (server.Effects.Wanted) server.Journal?.AppendedElsewhere();
                }
            }
            while (keys.Count == KeysPerList);
        }
    }

    /// <summary>
    /// Removes the keys of a slot that this node is about to take back, because they are older than those of the present owner. False if
    /// they cannot be removed now. The caller holds every shard and the lock of the cluster.
    /// </summary>
    public bool TryRunHeld(int slot)
    {
        while (HasLeft(slot))
        {
            if (server.Pause.IsOn || server.IsDiskBehind || server.DiskRefusal is not null) return false;
            SlotKeys.Remove(server, slot, SlotKeys.List(server, slot, KeysPerList));
        }
        return true;
    }

    /// <summary>Whether a slot has keys that are left over. The caller holds the shard of the slot and the lock of the cluster.</summary>
    public bool HasLeft(int slot) => IsLeftOver(slot) && SlotKeys.Count(server, slot) > 0;

    /// <summary>Whether a run that has not begun removes the keys of a slot.</summary>
    public bool IsQueued(int slot)
    {
        lock (_gate) return _next is { } next && next.Contains(slot);
    }

    private void RunAll()
    {
        while (true)
        {
            SlotSet slots;
            lock (_gate)
            {
                _isRunning = _next is not null;
                if (_next is null) return;
                (slots, _next) = (_next, null);
            }
            try
            {
                Run(slots);
                lock (_gate)
                {
                    // Keys of these slots may have come and are to be removed by the next run.
                    if (_next is not null) slots.ExceptWith(_next);
                    Removed.Add(slots);
                }
            }
            catch (Exception bug)
            {
                server.Failures.WorkFailed("Keys of slots of another node could not be removed", bug);
                if (bug is not OutOfMemoryException) continue;
                // The keys would stay, hidden from all clients.
                Thread.Sleep(RetryPause);
                lock (_gate) (_next ??= slots).UnionWith(slots);
            }
        }
    }

    /// <summary>The slots of a set that have keys here. The caller holds no shard, and not the lock of the cluster.</summary>
    public List<int> Occupied(SlotSet slots)
    {
        List<int> occupied = [];
        new HeldAction(server.Shards, () =>
        {
            foreach ((int first, int last) in slots.Ranges())
                for (int slot = first; slot <= last; slot++)
                    if (SlotKeys.Count(server, slot) > 0) occupied.Add(slot);
        }).RunAndWait();
        return occupied;
    }

    /// <summary>
    /// Whether the keys of a slot may go. They stay if the slot has come back meanwhile. An import holds every shard to add keys, so the
    /// answer holds as long as the caller holds the shard of the slot.
    /// </summary>
    private bool MayDrop(int slot)
    {
        lock (cluster.Gate) return cluster.State.IsForeign(slot) && IsLeftOver(slot);
    }

    /// <summary>Whether the keys of a slot are left over from an owner that has lost it, or from an import that has failed.</summary>
    private bool IsLeftOver(int slot) =>
        cluster.State is { Myself.IsPrimary: true } state && state.Removable.Contains(slot) && state.Importing[slot] is null
            && !cluster.Migrations.IsFilling(slot);
}
