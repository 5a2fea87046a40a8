using Microsoft.Extensions.Logging;
using RedisClone.Configuration;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Migrating;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Commands;

/// <summary>The parts of the server that commands on data use beyond their keys.</summary>
internal interface IDataServices
{
    ServerConfig Config { get; }

    /// <summary>The shards, for commands that walk over all keys.</summary>
    ShardMap Shards { get; }

    AccessClock AccessClock { get; }

    KeyEvents KeyEvents { get; }

    Notifications Notifications { get; }

    Invalidations Invalidations { get; }

    Snapshots Snapshots { get; }

    /// <summary>The connections of MIGRATE.</summary>
    MigrationLinks MigrationLinks { get; }

    /// <summary>This server as a node of a cluster, or null.</summary>
    ClusterMember? Cluster { get; }

    DebugSwitches Debug { get; }

    ILogger Log { get; }
}
