using System.Text;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Cluster.SlotMigration;
using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Commands.Cluster;

/// <summary>CLUSTER MIGRATION, which moves slots to this node, and CLUSTER SLOTSTREAM, with which the two nodes speak meanwhile.</summary>
internal static class MigrationCommands
{
    private const string Unknown = "ERR unknown argument";

    public static void Migration(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Is(2, "import"u8)) Import(ref c, cluster);
        else if (c.Is(2, "cancel"u8)) Cancel(ref c, cluster);
        else if (c.Is(2, "status"u8)) Status(ref c, cluster);
        else c.Fail(Unknown);
    }

    public static void SlotStream(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Is(2, "start"u8)) Start(ref c, cluster);
        else if (c.Is(2, "ack"u8)) Acknowledge(ref c, cluster);
        else if (c.Is(2, "outcome"u8)) Outcome(ref c, cluster);
        else c.Fail(Unknown);
    }

    private static void Import(ref CommandContext c, ClusterMember cluster)
    {
        if (SlotCommands.RangesFrom(ref c, 3) is not { } slots) return;
        if (cluster.Migrations.Import(slots, out string error) is { } task) c.Reply.BulkString(task.Id);
        else c.Fail($"ERR {error}");
    }

    private static void Cancel(ref CommandContext c, ClusterMember cluster)
    {
        if (TryWhich(ref c, out string? id)) c.Reply.Integer(cluster.Migrations.Cancel(id, "Cancelled due to user request"));
    }

    private static void Status(ref CommandContext c, ClusterMember cluster)
    {
        if (!TryWhich(ref c, out string? id)) return;
        SlotTask[] tasks = [.. cluster.Migrations.All.Where(task => id is null || task.Id == id)];
        c.Reply.ArrayHeader(tasks.Length);
        foreach (SlotTask task in tasks) Write(ref c, task);
    }

    private static bool TryWhich(ref CommandContext c, out string? id)
    {
        id = null;
        bool byId = c.Is(3, "id"u8);
        if (!byId && !c.Is(3, "all"u8)) return c.Fail(Unknown);
        if (c.Args.Count != (byId ? 5 : 4)) return c.Fail(Errors.WrongArity(c.Row.FullName));
        if (byId) id = c.Text(4);
        return true;
    }

    private static void Write(ref CommandContext c, SlotTask task)
    {
        c.Reply.MapHeader(12);
        Text(ref c, "id", task.Id);
        Text(ref c, "slots", task.SlotsText);
        Text(ref c, "source", task.Source);
        Text(ref c, "dest", task.Destination);
        Text(ref c, "operation", task.IsImport ? "import" : "migrate");
        Text(ref c, "state", task.StateName);
        Text(ref c, "last_error", task.Error);
        Number(ref c, "retries", task.Retries);
        Number(ref c, "create_time", task.CreatedAt);
        Number(ref c, "start_time", task.StartedAt);
        Number(ref c, "end_time", task.EndedAt);
        Number(ref c, "write_pause_ms", task.PauseMilliseconds);
    }

    private static void Text(ref CommandContext c, string name, string value)
    {
        c.Reply.BulkString(name);
        c.Reply.BulkString(value);
    }

    private static void Number(ref CommandContext c, string name, long value)
    {
        c.Reply.BulkString(name);
        c.Reply.Integer(value);
    }

    /// <summary>Makes the connection of the importing node one that receives the slots. The reply is the snapshot.</summary>
    private static void Start(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Args.Count < 7) c.Fail(Errors.WrongArity(c.Row.FullName));
        if (c.Failed || SlotCommands.RangesFrom(ref c, 5) is not { } slots) return;
        if (cluster.Migrations.Export(c.Session.Connection!, c.Text(3), c.Text(4), slots) is { } error) c.Fail($"ERR {error}");
    }

    /// <summary>Notes the progress of the importing node. It has no reply.</summary>
    private static void Acknowledge(ref CommandContext c, ClusterMember cluster)
    {
        long offset = c.Int64(3);
        if (!c.Failed) cluster.Migrations.Acknowledge(c.Session.Connection!, offset, c.Now);
    }

    /// <summary>Tells the former owner of slots whether this node has taken them over. If not, it will not do so any more.</summary>
    private static void Outcome(ref CommandContext c, ClusterMember cluster)
    {
        if (c.Args.Count < 6) c.Fail(Errors.WrongArity(c.Row.FullName));
        if (c.Failed || SlotCommands.RangesFrom(ref c, 4) is not { } slots) return;
        ulong? epoch = cluster.Migrations.Outcome(c.Text(3), slots, out bool isKnown);
        string answer = !isKnown ? "WAIT" : epoch is not null ? $"TAKEN {epoch}" : "NONE";
        c.Reply.SimpleString(Encoding.ASCII.GetBytes(answer));
    }
}
