namespace RedisClone.Server.Admin;

/// <summary>INFO's section about replication: a master that has no replicas.</summary>
internal static class ReplicationInfo
{
    private static readonly string NoId = new('0', 40);

    public static void Write(ServerCore server, InfoWriter info)
    {
        info.Section("Replication");
        info.Field("role", "master");
        info.Field("connected_slaves", 0);
        info.Field("master_failover_state", "no-failover");
        info.Field("master_replid", server.ReplicationId);
        info.Field("master_replid2", NoId);
        info.Field("master_repl_offset", 0);
        info.Field("second_repl_offset", -1);
        info.Field("repl_backlog_active", 0);
        info.Field("repl_backlog_size", server.Config.ReplBacklogSize);
        info.Field("repl_backlog_first_byte_offset", 0);
        info.Field("repl_backlog_histlen", 0);
    }
}
