namespace RedisClone.Engine.Cluster.Redirects;

/// <summary>
/// The slots that a running script uses. A slot that this node serves when the script first uses it is served until the script ends: the bus
/// may change the owner or the health of the cluster meanwhile, and that must not end a script halfway.
/// </summary>
internal sealed class ScriptSlots(ClusterMember cluster)
{
    private readonly HashSet<int> _served = [];

    /// <summary>The slot of the script's keys, or else of its first command with keys; -1 before that.</summary>
    public int First { get; private set; }

    /// <summary>Whether the cluster worked when the script began.</summary>
    public bool WasOk { get; private set; }

    /// <param name="declared">The slot of the keys that the script declares, or -1.</param>
    public void Begin(int declared)
    {
        _served.Clear();
        First = -1;
        WasOk = cluster.State.IsOk;
        if (declared >= 0) Use(declared);
    }

    public bool AreServed(int slot) => _served.Contains(slot);

    /// <summary>Notes that a command on a slot was not refused. A slot that moves is judged again for each command.</summary>
    public void Use(int slot)
    {
        if (First < 0) First = slot;
        if (cluster.Served.Contains(slot)) _served.Add(slot);
    }
}
