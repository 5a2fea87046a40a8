using RedisClone.Admin.Commands;
using RedisClone.Admin.Commands.Cluster;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Clients;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Engine.Commands.Geo;
using RedisClone.Engine.Commands.Hashes;
using RedisClone.Engine.Commands.Lists;
using RedisClone.Engine.Commands.Pubsub;
using RedisClone.Engine.Commands.Scripting;
using RedisClone.Engine.Commands.Sets;
using RedisClone.Engine.Commands.SortedSets;
using RedisClone.Engine.Commands.Streams;
using RedisClone.Engine.Commands.Strings;
using RedisClone.Engine.Commands.Transactions;

namespace RedisClone.Server;

/// <summary>All families of commands. A new family is one file and one line here.</summary>
internal static class CommandFamilies
{
    public static IEnumerable<CommandRow> All =>
    [
        .. ConnectionCommands.Rows,
        .. AclCommands.Rows,
        .. ClientCommands.Rows,
        .. ConfigCommands.Rows,
        .. CommandCommands.Rows,
        .. InfoCommands.Rows,
        .. ServerCommands.Rows,
        .. ReplicationCommands.Rows,
        .. SlowLogCommands.Rows,
        .. LatencyCommands.Rows,
        .. HotKeysCommands.Rows,
        .. SupportCommands.Rows,
        .. SnapshotCommands.Rows,
        .. BackupCommands.Rows,
        .. ClusterCommands.Rows,
        .. DebugCommands.Rows,
        .. MemoryCommands.Rows,
        .. ObjectCommands.Rows,
        .. DatabaseCommands.Rows,
        .. DumpCommands.Rows,
        .. ExpiryCommands.Rows,
        .. GeoCommands.Rows,
        .. HashCommands.Rows,
        .. HashExpiryCommands.Rows,
        .. HashImportCommands.Rows,
        .. KeyCommands.Rows,
        .. MigrateCommand.Rows,
        .. ListCommands.Rows,
        .. ListMoves.Rows,
        .. ScanCommands.Rows,
        .. ScriptCommands.Rows,
        .. FunctionCommands.Rows,
        .. SetAlgebra.Rows,
        .. SetCommands.Rows,
        .. SortedSetAlgebra.Rows,
        .. SortedSetCommands.Rows,
        .. SortedSetPops.Rows,
        .. SortedSetRangeCommands.Rows,
        .. SortCommands.Rows,
        .. StreamCommands.Rows,
        .. StreamReads.Rows,
        .. StreamGroupCommands.Rows,
        .. StreamClaims.Rows,
        .. StreamInfo.Rows,
        .. StreamIdempotence.Rows,
        .. StreamReferences.Rows,
        .. StreamReturns.Rows,
        .. StringCommands.Rows,
        .. StringRanges.Rows,
        .. StringCounters.Rows,
        .. StringMulti.Rows,
        .. BitmapCommands.Rows,
        .. BitfieldCommands.Rows,
        .. HyperLogLogCommands.Rows,
        .. PubSubCommands.Rows,
        .. TransactionCommands.Rows,
    ];
}
