using System.Text.RegularExpressions;
using RedisClone.EndToEnd.Tests.Table;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// The rows whose requests the differential tests do not derive. A test fails if a row has neither a derived template nor lines
/// of <see cref="Families"/> nor an entry here.
/// </summary>
internal static class NotDerived
{
    /// <summary>
    /// Rows that do not say enough, so that only lines of <see cref="Families"/> are compared. The rows whose results are random or
    /// depend on the clock say so themselves (<see cref="TableRow.HasRandomResult"/>).
    /// </summary>
    private static readonly (string Rows, string Why)[] s_linesOnly =
    [
        ("sort|sort_ro", "equal elements have a random order"),
        ("zrange|zrangestore", "the option determines what the bounds are"),
        ("z(rev)?rangebylex|zremrangebylex|zlexcount", "the result over different scores is random"),
        ("georadius.*|geosearch.*", "COUNT chooses among members of the same distance by chance"),
        ("bitop", "redis-server 7.0 does not document the operations"),
        (@"xinfo\|stream", "FULL has times, and numbers that follow Redis 8"),
    ];

    /// <summary>Rows that random requests do not compare, with the reason.</summary>
    private static readonly (string Rows, string Why)[] s_uncompared =
    [
        (@".*\|help|lolwut", "the texts are those of the server"),
        (@"command\|(count|docs|info|list)|command|config\|get|acl\|cat|module\|.*", "the servers have different commands and parameters"),
        (@"client\|(id|info|list)|info|role|slowlog\|.*|latency\|.*|memory\|.*|function\|stats|acl\|log", "the result depends on the past of the server"),
        (@"time|lastsave|acl\|genpass", "the result depends on the clock or on chance"),
        (@"object\|(freq|idletime)|dump|function\|(dump|restore)|xinfo\|consumers|pfdebug", "the result depends on the clock or on the form of the data"),
        (@"auth|hello|quit|reset|monitor|[ps]?(un)?subscribe|client\|(reply|tracking|trackinginfo|caching)", "the state of the connection changes"),
        (@"client\|(kill|pause|unpause|no-evict)|acl\|(setuser|deluser|load|save)", "it acts on other connections"),
        (@"config\|(set|rewrite|resetstat)|script\|debug|debug", "it acts on the server"),
        ("pfselftest", "it takes long on purpose"),
        ("migrate", "it needs a second server"),
        ("shutdown|failover|replicaof|slaveof|sync|psync|replconf|save|bgsave|bgrewriteaof", "it acts on the process, its files or its replicas"),
    ];

    public static bool HasLinesOnly(TableRow row) => row.HasRandomResult || s_linesOnly.Any(e => Fits(row, e.Rows));

    public static bool IsUncompared(TableRow row) => s_uncompared.Any(e => Fits(row, e.Rows));

    /// <summary>The entries that fit no row.</summary>
    public static IEnumerable<string> Unused(IReadOnlyCollection<TableRow> rows) =>
        s_linesOnly.Concat(s_uncompared).Select(e => e.Rows).Where(names => !rows.Any(row => Fits(row, names)));

    private static bool Fits(TableRow row, string names) => Regex.IsMatch(row.FullName, $"^({names})$");
}
