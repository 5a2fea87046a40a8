using RedisClone.Server.Acl;

namespace RedisClone.Server.Commands;

/// <summary>The families of commands: a new family is one file and one line here.</summary>
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
        .. SlowLogCommands.Rows,
        .. SnapshotCommands.Rows,
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
        .. ListCommands.Rows,
        .. ListMoves.Rows,
        .. ScanCommands.Rows,
        .. ScriptCommands.Rows,
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
