namespace RedisClone.Admin.Commands;

/// <summary>
/// Commands of other servers that this server does not have, for docs/commands.md. They reply like unknown commands, which is
/// how client libraries detect what a server supports.
/// </summary>
internal static class AbsentCommands
{
    public static readonly (string Names, string From, string Why)[] Rows =
    [
        ("`SENTINEL`", "Redis", "none: for the program redis-sentinel"),
        ("`SFLUSH`", "Redis 8", "none: for slots of a cluster"),
        ("`AR…` (arrays)", "Redis 8.10", "none: this server does not have the type"),
        ("`V…` (vector sets)", "Redis 8", "none: this server does not have the type"),
        ("`FT.…` `JSON.…` `TS.…` `BF.…` `CF.…` `CMS.…` `TOPK.…` `TDIGEST.…`", "Redis 8 and modules", "none: this server has no modules"),
        ("`CL.THROTTLE` `STICK` `SADDEX` `FIELDEXPIRE` `FIELDTTL`", "Dragonfly", "`HEXPIRE` for fields of hashes, `EXPIRE` for keys"),
        ("`RI.…` `Z(P)EXPIRE…` `ZTTL` `HCOLLECT` `ZCOLLECT` `GETWITHETAG` `SETIFMATCH` `WATCHMS` …", "Garnet",
            "`SET … IFEQ` compares values, `HEXPIRE` sets the expiry of fields"),
    ];
}
