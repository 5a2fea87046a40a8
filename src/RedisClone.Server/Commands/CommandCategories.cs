namespace RedisClone.Server.Commands;

/// <summary>The ACL categories of a command: what its flags and its group imply, and what its row adds.</summary>
internal static class CommandCategories
{
    /// <summary>All that there are, in the order in which they are shown.</summary>
    public static readonly string[] All =
    [
        "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream", "pubsub",
        "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
    ];

    public static string[] Of(CommandRow row)
    {
        var implied = new HashSet<string>(row.Categories);
        if (row.Subcommands.Length == 0 && OfGroup(row.Group) is { } category) implied.Add(category);
        if (row.Has(CommandFlags.Write)) implied.Add("write");
        if (row.Has(CommandFlags.ReadOnly) && !implied.Contains("scripting")) implied.Add("read");
        if (row.Has(CommandFlags.Admin)) implied.UnionWith(["admin", "dangerous"]);
        if (row.Has(CommandFlags.PubSub)) implied.Add("pubsub");
        if (row.Has(CommandFlags.Blocking)) implied.Add("blocking");
        implied.Add(row.Has(CommandFlags.Fast) ? "fast" : "slow");
        return [.. All.Where(implied.Contains)];
    }

    /// <summary>Commands about the server as a whole share no category.</summary>
    private static string? OfGroup(string group) => group switch
    {
        "generic" => "keyspace",
        "sorted-set" => "sortedset",
        "transactions" => "transaction",
        "string" or "list" or "set" or "hash" or "bitmap" or "hyperloglog" or "geo" or "stream" or "pubsub" or "connection" or "scripting" => group,
        _ => null,
    };
}
