using RedisClone.Engine.Acl;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Pubsub;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Replication.Following;
using RedisClone.Engine.Shards;

namespace RedisClone.Engine.Commands;

/// <summary>The parts of the server that commands on clients, channels and transactions use.</summary>
internal interface IClientServices
{
    /// <summary>The commands, for those that a transaction queues.</summary>
    CommandTable Commands { get; }

    /// <summary>The shards of watched keys.</summary>
    ShardMap Shards { get; }

    /// <summary>Runs the commands of a transaction.</summary>
    Executor Executor { get; }

    SessionRegistry Sessions { get; }

    ClientPause Pause { get; }

    AccessControl Access { get; }

    Invalidations Invalidations { get; }

    Hub Hub { get; }

    Monitors Monitors { get; }

    Replicas Replicas { get; }

    /// <summary>The server as a node of a cluster; null if it is not one.</summary>
    ClusterMember? Cluster { get; }

    /// <summary>The role of the server in replication.</summary>
    ReplicationRole Role { get; }
}
