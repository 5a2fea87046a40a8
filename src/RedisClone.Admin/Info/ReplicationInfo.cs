using System.Globalization;
using RedisClone.Configuration;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Replication.Following;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about replication: the role, the link to the primary, and the replicas.</summary>
internal static class ReplicationInfo
{
    public static readonly InfoRow[] Rows =
    [
        new Figure("role", r => r.Server.Role.IsReplica ? "slave" : "master"),
        new FreeText(WritePrimary),
        new Figure("master_link_status", r => r.Server.Role is not { Primary: not null } role ? default(FigureValue?)
                : new FigureValue(role.IsLinkUp ? "up" : "down", role.IsLinkUp ? 1 : 0),
            Gauge("redis_master_link_up", "1 while this replica follows its primary; absent on a primary.")),
        new FreeText(WriteLink),
        new Figure("connected_slaves", r => r.Replicas.Length, Gauge("redis_connected_slaves", "Replicas that are connected.")),
        new Figure("slaves_behind_bytes", r => r.Replicas.Select(static replica => replica.Behind).DefaultIfEmpty().Max(),
            Gauge("redisclone_replicas_behind_bytes", "Bytes of the stream that the slowest replica has not been sent.", Unit.Bytes)),
        new Figure("min_slaves_good_slaves", r => r.Config.WantsReplicas && !r.Server.Role.IsReplica ? r.Server.Replicas.CountGood() : null),
        new FreeText(WriteReplicas),
        new Figure("master_failover_state", r => r.Server.Failover.State switch
        {
            FailoverState.WaitsForSync => "waiting-for-sync",
            FailoverState.InProgress => "failover-in-progress",
            _ => "no-failover",
        }),
        new Figure("master_replid", r => r.Server.History.Id),
        new Figure("master_replid2", r => r.Server.History.EarlierId),
        new Figure("master_repl_offset", r => r.Server.Replicas.Stream.Offset),
        new Figure("second_repl_offset", r => r.Server.History.EarlierEnd),
        new Figure("repl_backlog_active", r => r.Server.Replicas.Stream.IsOpen),
        new Figure("repl_backlog_size", r => r.Config.ReplBacklogSize),
        new Figure("repl_backlog_first_byte_offset", r => r.Server.Replicas.Stream is { IsOpen: true } stream ? stream.BacklogStart + 1 : 0),
        new Figure("repl_backlog_histlen", r => r.Server.Replicas.Stream is { IsOpen: true } stream ? stream.Offset - stream.BacklogStart : 0),
    ];

    private static void WritePrimary(ServerReading reading, InfoWriter info)
    {
        if (reading.Server.Role.Primary is not { } primary) return;
        info.Field("master_host", primary.Host);
        info.Field("master_port", primary.Port.ToString(CultureInfo.InvariantCulture));
    }

    private static void WriteLink(ServerReading reading, InfoWriter info)
    {
        if (reading.Server.Role is not { Primary: not null } role) return;
        Follower? link = role.Follower;
        bool isUp = role.IsLinkUp;
        long offset = reading.Server.Replicas.Stream.Offset;
        Field("master_last_io_seconds_ago", isUp ? (reading.Now - link!.LastInput) / 1000 : -1);
        FullCopy? copy = link?.Copy;
        Field("master_sync_in_progress", link?.State == LinkState.Sync);
        Field("slave_read_repl_offset", offset + (link?.Waiting ?? 0));
        Field("slave_repl_offset", offset);
        if (copy is not null) WriteCopy(copy, link!, reading.Now, info);
        if (!isUp) Field("master_link_down_since_seconds", link is { DownSince: > 0 and var since } ? (reading.Now - since) / 1000 : -1);
        ServerConfig config = reading.Config;
        Field("slave_priority", config.ReplicaPriority);
        Field("slave_read_only", config.ReplicaReadOnly);
        Field("replica_announced", config.ReplicaAnnounced);

        void Field(string name, FigureValue value) => info.Field(name, value.Text);
    }

    private static void WriteCopy(FullCopy copy, Follower link, long now, InfoWriter info)
    {
        long total = copy.TotalBytes, read = copy.BytesRead;
        info.Field("master_sync_total_bytes", ((FigureValue)total).Text);
        info.Field("master_sync_read_bytes", ((FigureValue)read).Text);
        info.Field("master_sync_left_bytes", ((FigureValue)(total - read)).Text);
        info.Field("master_sync_perc", FigureValue.Ratio(total == 0 ? 0 : 100.0 * read / total).Text);
        info.Field("master_sync_last_io_seconds_ago", ((FigureValue)((now - link.LastInput) / 1000)).Text);
    }

    private static void WriteReplicas(ServerReading reading, InfoWriter info)
    {
        for (int i = 0; i < reading.Replicas.Length; i++)
            info.Field(string.Create(CultureInfo.InvariantCulture, $"slave{i}"), Describe(reading.Replicas[i], reading.Now));
    }

    private static string Describe(Replica replica, long now) => string.Create(CultureInfo.InvariantCulture,
        $"ip={replica.Host},port={replica.ListeningPort},state={replica.StateName},offset={replica.Acknowledged},lag={replica.Lag(now)}");
}
