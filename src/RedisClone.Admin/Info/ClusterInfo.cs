using RedisClone.Engine.Cluster.Bus;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>The figures about the cluster of this node: CLUSTER INFO, and a part of INFO's section.</summary>
internal static class ClusterInfo
{
    /// <summary>The figures of CLUSTER INFO, in its order. All are absent without cluster mode.</summary>
    public static readonly InfoRow[] State =
    [
        new Figure("cluster_state", static r => r.Cluster is { } c ? new FigureValue(c.IsOk ? "ok" : "fail", c.IsOk ? 1 : 0) : default(FigureValue?),
            Gauge("redis_cluster_state", "1 while the cluster serves clients, as this node sees it.")),
        Of("slots_assigned", "Slots that a node serves.", static c => c.Assigned),
        Of("slots_ok", "Slots whose node works.", static c => c.Assigned - c.PossiblyFailed - c.Failed),
        Of("slots_pfail", "Slots whose node does not answer this node.", static c => c.PossiblyFailed),
        Of("slots_fail", "Slots whose node has failed.", static c => c.Failed),
        Of("known_nodes", "Nodes of the cluster that this node knows.", static c => c.KnownNodes),
        Of("size", "Primaries with slots.", static c => c.Size),
        Of("current_epoch", "The epoch of the cluster.", static c => c.CurrentEpoch),
        Of("my_epoch", "The epoch of this node's slots.", static c => c.MyEpoch),
        new BusMessages("sent", "Messages sent to other nodes, by type.", static c => c.Sent),
        new BusMessages("received", "Messages received from other nodes, by type.", static c => c.Received),
        new Figure("total_cluster_links_buffer_limit_exceeded", static r => r.Cluster?.LinksOverLimit,
            Counter("redisclone_cluster_links_over_limit_total", "Links closed because their output was too long.")),
        new Figure("cluster_links_refused", static r => r.Cluster?.LinksRefused,
            Counter("redisclone_cluster_links_refused_total", "Links closed because their input was no message.")),
    ];

    /// <summary>INFO's section.</summary>
    public static readonly InfoRow[] Rows =
    [
        new Figure("cluster_enabled", static r => r.Config.ClusterEnabled, Gauge("redis_cluster_enabled", "1 if this server is a node of a cluster.")),
        .. State,
        new Figure("cluster_links", static r => r.Cluster?.Links, Gauge("redisclone_cluster_links", "Connections with other nodes.")),
    ];

    private static Figure Of(string name, string help, Func<ClusterReading, long> read) =>
        new("cluster_" + name, r => r.Cluster is { } cluster ? read(cluster) : null, Gauge("redis_cluster_" + name, help));

    /// <summary>The messages of the bus in one direction: a line for each type that was used, and one for all.</summary>
    private sealed record BusMessages(string Direction, string Help, Func<ClusterReading, long[]> Read) : InfoRow
    {
        public override IEnumerable<Export> Exports =>
            [new(Counter($"redis_cluster_messages_{Direction}_total", Help), "type", Samples)];

        public override void Write(ServerReading reading, InfoWriter info)
        {
            if (reading.Cluster is not { } cluster) return;
            foreach ((string type, long count) in Used(cluster)) info.Field($"cluster_stats_messages_{type}_{Direction}", ((FigureValue)count).Text);
            info.Field($"cluster_stats_messages_{Direction}", ((FigureValue)Read(cluster).Sum()).Text);
        }

        private IEnumerable<Sample> Samples(ServerReading reading) =>
            reading.Cluster is { } cluster ? Read(cluster).Select(static (count, type) => new Sample(MessageTypes.NameOf(type), count)) : [];

        private IEnumerable<(string Type, long Count)> Used(ClusterReading cluster) =>
            Read(cluster).Select(static (count, type) => (MessageTypes.NameOf(type), count)).Where(static used => used.count > 0);
    }
}
