using RedisClone.Engine.Commands;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.Redirects;

/// <summary>The keys and shard channels of one command or transaction, and their slot.</summary>
internal struct RequestedKeys(long now)
{
    private List<byte[]>? _all;

    /// <summary>Unix milliseconds; an expired key is a missing one.</summary>
    public long Now { get; } = now;

    /// <summary>The slot of the first key; -1 without keys.</summary>
    public int Slot { get; private set; } = -1;

    /// <summary>Whether there are keys of different slots.</summary>
    public bool IsMixed { get; private set; }

    /// <summary>Whether there are shard channels among them.</summary>
    public bool AreChannels { get; private set; }

    /// <summary>Whether there are different keys.</summary>
    public bool HasSeveral { get; private set; }

    public readonly IReadOnlyList<byte[]> All => _all ?? [];

    public void Add(CommandRow row, in Request request)
    {
        if (row.Keys.Length == 0 && row.FindKeys is null) return;
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        AreChannels |= row.Channels != ChannelUse.None && row.Keys.Length > 0;
        // Malformed arguments name no keys. The handler reports the error.
        if (row.CollectKeys(request, ref positions) && CollectChannels(row, request, ref positions))
            for (int i = 0; i < positions.Count; i++) Add(request[positions[i]]);
        positions.Dispose();
    }

    private static bool CollectChannels(CommandRow row, in Request request, ref KeyPositions into)
    {
        foreach (KeySpec spec in row.Keys)
            if ((spec.Flags & KeyFlags.NotKey) != 0 && !spec.Collect(request, ref into)) return false;
        return true;
    }

    private void Add(ReadOnlySpan<byte> key)
    {
        int slot = KeySlot.Of(key);
        if (Slot < 0) Slot = slot;
        else if (slot != Slot) IsMixed = true;
        _all ??= [];
        HasSeveral |= _all.Count > 0 && !key.SequenceEqual(_all[0]);
        _all.Add(key.ToArray());
    }
}
