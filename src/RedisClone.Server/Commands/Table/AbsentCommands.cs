namespace RedisClone.Server.Commands;

/// <summary>
/// What other servers have and this one has not, for docs/commands.md. To clients these are unknown commands, which is how libraries find
/// out what a server can do.
/// </summary>
internal static class AbsentCommands
{
    public static readonly (string Names, string From, string Why)[] Rows =
    [
        ("`RESTORE-ASKING`", "Redis", "none: for nodes of a cluster"),
        ("`MIGRATE`", "Redis", "`DUMP` and `RESTORE` through a client"),
        ("`SENTINEL`", "Redis", "none: for the program redis-sentinel"),
        ("`SFLUSH`", "Redis 8", "none: for slots of a cluster"),
        ("`AR…` (arrays)", "Redis 8.10", "none: this server does not have the type"),
        ("`V…` (vector sets)", "Redis 8", "none: this server does not have the type"),
        ("`FT.…` `JSON.…` `TS.…` `BF.…` `CF.…` `CMS.…` `TOPK.…` `TDIGEST.…`", "Redis 8 and modules", "none: this server has no modules"),
        ("`CL.THROTTLE` `STICK` `SADDEX` `FIELDEXPIRE` `FIELDTTL`", "Dragonfly", "`HEXPIRE` for fields of hashes, `EXPIRE` for keys"),
        ("`RI.…` `Z(P)EXPIRE…` `ZTTL` `HCOLLECT` `ZCOLLECT` `GETWITHETAG` `SETIFMATCH` `WATCHMS` …", "Garnet", "`SET … IFEQ` compares values, `HEXPIRE` sets the expiry of fields"),
    ];
}
