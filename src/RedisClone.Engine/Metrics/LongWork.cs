namespace RedisClone.Engine.Metrics;

/// <summary>How far a work is that may take minutes.</summary>
/// <param name="Kind">What is done.</param>
/// <param name="InBytes">Whether the amounts are bytes; otherwise they are keys.</param>
/// <param name="Done">The amount that is done.</param>
/// <param name="Total">The whole amount; 0 if it is not known.</param>
/// <param name="Taken">How long the work runs.</param>
internal sealed record LongWork(LongWorkKind Kind, bool InBytes, long Done, long Total, TimeSpan Taken)
{
    /// <summary>The part that is done, from 0 to 1.</summary>
    public double Share => Total > 0 ? Math.Clamp((double)Done / Total, 0, 1) : 0;

    /// <summary>The amount a second.</summary>
    public double Rate => Taken > TimeSpan.Zero ? Done / Taken.TotalSeconds : 0;

    /// <summary>The estimated seconds until the end at the rate so far, or -1.</summary>
    public long SecondsLeft => Total > 0 && Rate > 0 ? (long)Math.Ceiling(Math.Max(0, Total - Done) / Rate) : -1;

    /// <summary>The work that a server does now.</summary>
    public static IEnumerable<LongWork> Of(ServerCore server)
    {
        if (server.Loading is { } load)
            yield return new LongWork(LongWorkKind.Load, true, load.LoadedBytes, load.TotalBytes, Since(load.StartedAt));
        if (server.Snapshots.Slot.Running is { } run && LongWorkKind.Of(server.Snapshots.Slot.Kind) is { } kind)
            yield return new LongWork(kind, false, run.KeysDone, run.Keys, run.Taken);
        // A copy that is received is loaded next.
        if (server.Role.Follower?.Copy is { } copy && (copy.TotalBytes == 0 || copy.BytesRead < copy.TotalBytes))
            yield return new LongWork(LongWorkKind.CopyFromPrimary, true, copy.BytesRead, copy.TotalBytes, copy.Taken);
        if (server.Cluster?.Migrations.Importing is { } import) yield return import;
    }

    public static TimeSpan Since(long unixMilliseconds) => TimeSpan.FromMilliseconds(Math.Max(0, ServerCore.UnixMilliseconds() - unixMilliseconds));
}
