using RedisClone.Engine.Durability;

namespace RedisClone.Engine.Metrics;

/// <summary>Work that takes so long that a person asks how far it is.</summary>
/// <param name="Name">The name in INFO.</param>
/// <param name="Title">The name in the log.</param>
/// <param name="InBytes">Whether the amounts are bytes; otherwise they are keys.</param>
/// <param name="Done">The amount that is done.</param>
/// <param name="Total">The whole amount; 0 if it is not known.</param>
/// <param name="Taken">How long the work runs.</param>
internal sealed record LongWork(string Name, string Title, bool InBytes, long Done, long Total, TimeSpan Taken)
{
    /// <summary>The kinds of work, by their names.</summary>
    public static readonly string[] Names =
        ["load", "snapshot", "rewrite", "backup", "copy_for_replicas", "copy_from_primary", "slot_export", "slot_import"];

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
            yield return new LongWork(Names[0], "Loading", true, load.LoadedBytes, load.TotalBytes, Since(load.StartedAt));
        if (server.Snapshots.Slot.Running is { } run && NameOf(server.Snapshots.Slot.Kind) is var (name, title))
            yield return new LongWork(name, title, false, run.KeysDone, run.Keys, run.Taken);
        // A copy that is received is loaded next.
        if (server.Role.Follower?.Copy is { } copy && (copy.TotalBytes == 0 || copy.BytesRead < copy.TotalBytes))
            yield return new LongWork(Names[5], "Copy from the primary", true, copy.BytesRead, copy.TotalBytes, copy.Taken);
        if (server.Cluster?.Migrations.Importing is { } import) yield return import;
    }

    public static TimeSpan Since(long unixMilliseconds) => TimeSpan.FromMilliseconds(Math.Max(0, ServerCore.UnixMilliseconds() - unixMilliseconds));

    private static (string Name, string Title)? NameOf(SnapshotKind kind) => kind switch
    {
        SnapshotKind.Save => (Names[1], "Snapshot"),
        SnapshotKind.Rewrite => (Names[2], "Rewrite of the journal"),
        SnapshotKind.Backup => (Names[3], "Backup"),
        SnapshotKind.Replicas => (Names[4], "Copy for replicas"),
        SnapshotKind.Slots => (Names[6], "Export of slots"),
        _ => null,
    };
}
