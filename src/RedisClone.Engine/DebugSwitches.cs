namespace RedisClone.Engine;

/// <summary>The switches that DEBUG sets, for tests.</summary>
internal sealed class DebugSwitches
{
    private static readonly TimeSpan WakingPoll = TimeSpan.FromMilliseconds(100);

    /// <summary>Whether background work removes expired keys and fields. If false, only an access to them does.</summary>
    public bool ActiveExpiry { get; set; } = true;

    /// <summary>Whether background work runs.</summary>
    public bool BackgroundWork { get; set; } = true;

    /// <summary>The type of messages of the cluster bus that this node ignores; -1 for none.</summary>
    public long IgnoredBusMessages { get; set; } = -1;

    /// <summary>Until when DEBUG SLEEP stops this server, in Unix milliseconds.</summary>
    public long SleepsUntil { get; set; }

    /// <summary>
    /// Whether DEBUG SLEEP stops this server. Its primary, its replicas and the other nodes of its cluster must take it for failed, as they
    /// do with redis-server.
    /// </summary>
    public bool IsAsleep => SleepsUntil > ServerCore.UnixMilliseconds();

    public async ValueTask AwaitWakingAsync(CancellationToken end)
    {
        while (IsAsleep) await Task.Delay(WakingPoll, end).ConfigureAwait(false);
    }

    /// <summary>Whether scripts may call commands that are denied to scripts.</summary>
    public bool ScriptsMayCallAll { get; set; }

    /// <summary>Whether a script that was wrongly proved to keep to its keys ends the process.</summary>
    public bool EndsOnFailedProof { get; set; }

    /// <summary>Whether RESTORE verifies the checksum of its payload.</summary>
    public bool PayloadChecksums { get; set; } = true;
}
