using System.Globalization;
using RedisClone.Engine.Replication;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about replication: a master and its replicas.</summary>
internal static class ReplicationInfo
{
    private static readonly string NoId = new('0', 40);

    public static readonly InfoRow[] Rows =
    [
        new Figure("role", _ => "master"),
        new Figure("connected_slaves", r => r.Replicas.Length),
        new Figure("min_slaves_good_slaves", r => r.Config.WantsReplicas ? r.Server.Replicas.CountGood() : null),
        new FreeText(WriteReplicas),
        new Figure("master_failover_state", _ => "no-failover"),
        new Figure("master_replid", r => r.Server.ReplicationId),
        new Figure("master_replid2", _ => NoId),
        new Figure("master_repl_offset", r => r.Server.Replicas.Stream.Offset),
        new Figure("second_repl_offset", _ => -1),
        new Figure("repl_backlog_active", _ => 0),
        new Figure("repl_backlog_size", r => r.Config.ReplBacklogSize),
        new Figure("repl_backlog_first_byte_offset", _ => 0),
        new Figure("repl_backlog_histlen", _ => 0),
    ];

    private static void WriteReplicas(ServerReading reading, InfoWriter info)
    {
        for (int i = 0; i < reading.Replicas.Length; i++)
            info.Field(string.Create(CultureInfo.InvariantCulture, $"slave{i}"), Describe(reading.Replicas[i], reading.Now));
    }

    private static string Describe(Replica replica, long now)
    {
        string state = replica.State switch
        {
            ReplicaState.Follows => "online",
            ReplicaState.TakesSnapshot => "send_bulk",
            _ => "wait_bgsave",
        };
        long lag = replica.State == ReplicaState.Follows ? (now - replica.AcknowledgedAt) / 1000 : 0;
        return string.Create(CultureInfo.InvariantCulture,
            $"ip={replica.Host},port={replica.ListeningPort},state={state},offset={replica.Acknowledged},lag={lag}");
    }
}
