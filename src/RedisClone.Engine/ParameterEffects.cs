using RedisClone.Configuration;
using RedisClone.Storage.Values;

namespace RedisClone.Engine;

/// <summary>
/// Registers callbacks for parameters that take effect only when a component is notified. Other parameters are read where they
/// are used.
/// </summary>
internal static class ParameterEffects
{
    private static readonly string[] Encodings =
    [
        "hash-max-listpack-entries", "hash-max-listpack-value", "list-max-listpack-size", "set-max-intset-entries", "set-max-listpack-entries",
        "set-max-listpack-value", "zset-max-listpack-entries", "zset-max-listpack-value", "stream-node-max-bytes", "stream-node-max-entries",
    ];

    /// <summary>What a node of a cluster tells others about itself.</summary>
    private static readonly string[] Announced =
    [
        "cluster-announce-ip", "cluster-announce-port", "cluster-announce-tls-port", "cluster-announce-bus-port", "cluster-announce-hostname",
        "cluster-announce-human-nodename", "cluster-replica-no-failover",
    ];

    /// <summary>What the connections of MIGRATE are encrypted with. A kept connection must not outlive a change of them.</summary>
    private static readonly string[] OfMigrations =
        ["tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-protocols"];

    public static void Attach(ServerCore server)
    {
        ServerConfig config = server.Config;
        ApplyEncodings(server);
        foreach (string name in Encodings) On(server, name, () => ApplyEncodings(server));
        server.Parameters.OnChanged("appendonly", () => server.Rewrites.TurnJournal(config.AppendOnly));
        server.Parameters.OnChanged("dir", () => server.Journal is null ? null
            : "the append-only files stay where they are, so a start would not find them. Set appendonly to no before, and to yes after");
        On(server, "appendfsync", () => server.Journal?.Adapt());
        On(server, "notify-keyspace-events", () => server.Notifications.Enabled = config.NotifyKeyspaceEvents);
        On(server, "slowlog-log-slower-than", server.SlowLog.Adapt);
        On(server, "maxmemory", () =>
        {
            server.ClientMemory.Recount();
            server.Eviction.Look();
        });
        On(server, "maxmemory-clients", server.ClientMemory.Recount);
        On(server, "tracking-table-max-keys", server.Invalidations.ApplyLimit);
        On(server, "latency-monitor-threshold", server.Latency.Adapt);
        On(server, "maxmemory-policy", () =>
        {
            server.AccessClock.Adapt();
            server.AdvanceClock(ServerCore.UnixMilliseconds());
        });
        On(server, "requirepass", () => server.Access.Users.SetDefaultPassword(config.RequirePass));
        On(server, "acl-pubsub-default", server.Access.Adapt);
        server.Parameters.DescribeUsers = () => server.Access.Users.All.Select(user => $"{user.Name} {user.Permissions}");
        On(server, "repl-backlog-size", () => server.Replicas.Stream.BacklogSize = config.ReplBacklogSize);
        foreach (string name in Announced) On(server, name, () => server.Cluster?.Announce());
        server.Parameters.OnChanged("tls-cluster", () =>
        {
            if (server.Cluster is not null) return "a running node of a cluster cannot change it";
            server.MigrationLinks.Close();
            return null;
        });
        foreach (string name in OfMigrations) On(server, name, server.MigrationLinks.Close);
        On(server, "cluster-require-full-coverage", () => server.Cluster?.Reconsider());
        On(server, "proto-max-bulk-len", () => server.RequestLimits.MaxBulkLength = Math.Min(config.ProtoMaxBulkLen, Limits.MaxValueBytes));
    }

    private static void On(ServerCore server, string name, Action apply) => server.Parameters.OnChanged(name, () =>
    {
        apply();
        return null;
    });

    /// <summary>Existing values are converted when they are next written.</summary>
    private static void ApplyEncodings(ServerCore server)
    {
        ServerConfig c = server.Config;
        var limits = new ValueLimits
        {
            HashMaxListpackEntries = Clamp(c.HashMaxListpackEntries),
            HashMaxListpackValue = Clamp(c.HashMaxListpackValue),
            ListMaxListpackSize = c.ListMaxListpackSize,
            SetMaxIntsetEntries = Clamp(c.SetMaxIntsetEntries),
            SetMaxListpackEntries = Clamp(c.SetMaxListpackEntries),
            SetMaxListpackValue = Clamp(c.SetMaxListpackValue),
            ZsetMaxListpackEntries = Clamp(c.ZsetMaxListpackEntries),
            ZsetMaxListpackValue = Clamp(c.ZsetMaxListpackValue),
            StreamNodeMaxBytes = c.StreamNodeMaxBytes,
            StreamNodeMaxEntries = c.StreamNodeMaxEntries,
        };
        for (int i = 0; i < server.Shards.Count; i++) server.Shards[i].Store.Limits = limits;
    }

    private static int Clamp(long value) => (int)Math.Min(value, int.MaxValue);
}
