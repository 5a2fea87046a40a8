using RedisClone.Engine.Durability;

namespace RedisClone.Engine.Metrics;

/// <summary>A kind of long work.</summary>
/// <param name="Name">The name in INFO.</param>
/// <param name="Title">The name in the log.</param>
internal sealed record LongWorkKind(string Name, string Title)
{
    public static readonly LongWorkKind
        Load = new("load", "Loading"),
        Snapshot = new("snapshot", "Snapshot"),
        Rewrite = new("rewrite", "Rewrite of the journal"),
        Backup = new("backup", "Backup"),
        CopyForReplicas = new("copy_for_replicas", "Copy for replicas"),
        CopyFromPrimary = new("copy_from_primary", "Copy from the primary"),
        SlotExport = new("slot_export", "Export of slots"),
        SlotImport = new("slot_import", "Import of slots");

    /// <summary>All kinds, in the order of INFO.</summary>
    public static readonly LongWorkKind[] All = [Load, Snapshot, Rewrite, Backup, CopyForReplicas, CopyFromPrimary, SlotExport, SlotImport];

    /// <summary>The kind of a snapshot, or null if none is taken.</summary>
    public static LongWorkKind? Of(SnapshotKind kind) => kind switch
    {
        SnapshotKind.Save => Snapshot,
        SnapshotKind.Rewrite => Rewrite,
        SnapshotKind.Backup => Backup,
        SnapshotKind.Replicas => CopyForReplicas,
        SnapshotKind.Slots => SlotExport,
        _ => null,
    };
}
