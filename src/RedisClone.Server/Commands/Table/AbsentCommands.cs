namespace RedisClone.Server.Commands;

/// <summary>
/// What other servers have and this one has not, for docs/commands.md. To clients these are unknown commands, which is how libraries find
/// out what a server can do.
/// </summary>
internal static class AbsentCommands
{
    public static readonly (string Names, string From, string Why)[] Rows =
    [
        ("`RESTORE-ASKING`", "Redis", "what nodes of a cluster say to each other; there is no cluster"),
        ("`MIGRATE`", "Redis", "`DUMP` and `RESTORE` do it through a client"),
        ("`SENTINEL`", "Redis", "redis-sentinel watches servers with replicas"),
        ("`SFLUSH`", "Redis 8", "flushes slots of a cluster"),
        ("`AR…` (arrays)", "Redis 8.10", "a type of its own that this server has not"),
        ("`V…` (vector sets)", "Redis 8", "a type of its own that this server has not"),
        ("`FT.…` `JSON.…` `TS.…` `BF.…` `CF.…` `CMS.…` `TOPK.…` `TDIGEST.…`", "Redis 8 and modules", "there are no modules"),
        ("`CL.THROTTLE` `STICK` `SADDEX` `FIELDEXPIRE` `FIELDTTL`", "Dragonfly", "its own; hashes have `HEXPIRE`, keys have `EXPIRE`"),
        ("`RI.…` `Z(P)EXPIRE…` `ZTTL` `HCOLLECT` `ZCOLLECT` `GETWITHETAG` `SETIFMATCH` `WATCHMS` …", "Garnet", "its own; `SET … IFEQ` compares values, `HEXPIRE` expires fields"),
    ];
}
