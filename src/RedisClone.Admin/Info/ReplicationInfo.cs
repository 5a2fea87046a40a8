using System.Globalization;
using RedisClone.Engine;
using RedisClone.Engine.Replication;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about replication: a master and its replicas.</summary>
internal static class ReplicationInfo
{
    private static readonly string NoId = new('0', 40);

    public static void Write(ServerCore server, InfoWriter info)
    {
        info.Section("Replication");
        info.Field("role", "master");
        Replica[] replicas = server.Replicas.All.ToArray();
        info.Field("connected_slaves", replicas.Length);
        if (server.Config.WantsReplicas) info.Field("min_slaves_good_slaves", server.Replicas.CountGood());
        long now = ServerCore.UnixMilliseconds();
        for (int i = 0; i < replicas.Length; i++)
            info.Field(string.Create(CultureInfo.InvariantCulture, $"slave{i}"), Describe(replicas[i], now));
        info.Field("master_failover_state", "no-failover");
        info.Field("master_replid", server.ReplicationId);
        info.Field("master_replid2", NoId);
        info.Field("master_repl_offset", server.Replicas.Stream.Offset);
        info.Field("second_repl_offset", -1);
        info.Field("repl_backlog_active", 0);
        info.Field("repl_backlog_size", server.Config.ReplBacklogSize);
        info.Field("repl_backlog_first_byte_offset", 0);
        info.Field("repl_backlog_histlen", 0);
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
