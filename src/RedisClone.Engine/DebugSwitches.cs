namespace RedisClone.Engine;

/// <summary>The switches that DEBUG sets, for tests.</summary>
internal sealed class DebugSwitches
{
    /// <summary>Whether background work removes expired keys and fields. If false, only an access to them does.</summary>
    public bool ActiveExpiry { get; set; } = true;

    /// <summary>Whether background work runs.</summary>
    public bool BackgroundWork { get; set; } = true;

    /// <summary>The type of messages of the cluster bus that this node ignores; -1 for none.</summary>
    public long IgnoredBusMessages { get; set; } = -1;

    /// <summary>Until when this node neither reads from the bus nor does its periodic work, in Unix milliseconds.</summary>
    public long BusSleepsUntil { get; set; }

    /// <summary>Whether scripts may call commands that are denied to scripts.</summary>
    public bool ScriptsMayCallAll { get; set; }

    /// <summary>Whether a script that was wrongly proved to keep to its keys ends the process.</summary>
    public bool EndsOnFailedProof { get; set; }

    /// <summary>Whether RESTORE verifies the checksum of its payload.</summary>
    public bool PayloadChecksums { get; set; } = true;
}
