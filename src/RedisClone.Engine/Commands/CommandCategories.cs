namespace RedisClone.Engine.Commands;

/// <summary>The ACL categories of a command. They follow from its flags, its group and its row.</summary>
internal static class CommandCategories
{
    /// <summary>All categories in the order of ACL CAT.</summary>
    public static readonly string[] All =
    [
        "keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream", "pubsub",
        "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
    ];

    public static string[] Of(CommandRow row) => [.. All.Where((_, i) => (row.CategoryMask >> i & 1) != 0)];

    /// <summary>The bit of a category, given without its @ in any letter case; 0 if there is no such category.</summary>
    public static ulong MaskOf(ReadOnlySpan<char> category)
    {
        for (int i = 0; i < All.Length; i++)
            if (category.Equals(All[i], StringComparison.OrdinalIgnoreCase)) return 1UL << i;
        return 0;
    }

    /// <summary>A bit for each category that the row is in.</summary>
    public static ulong MaskOf(CommandRow row)
    {
        ulong mask = 0;
        foreach (string category in Implied(row)) mask |= MaskOf(category);
        return mask;
    }

    private static HashSet<string> Implied(CommandRow row)
    {
        var implied = new HashSet<string>(row.Categories);
        // A row that names the category of another group does not belong to its own: SORT concerns lists and sets, WAIT concerns
        // connections.
        if (row.Subcommands.Length == 0 && !row.Categories.Any(IsOfGroup) && OfGroup(row.Group) is { } category) implied.Add(category);
        if (row.Has(CommandFlags.Write)) implied.Add("write");
        if (row.Has(CommandFlags.ReadOnly) && !implied.Contains("scripting")) implied.Add("read");
        if (row.Has(CommandFlags.Admin)) implied.UnionWith(["admin", "dangerous"]);
        if (row.Has(CommandFlags.PubSub)) implied.Add("pubsub");
        if (row.Has(CommandFlags.Blocking)) implied.Add("blocking");
        implied.Add(row.Has(CommandFlags.Fast) ? "fast" : "slow");
        return implied;
    }

    private static bool IsOfGroup(string category) => OfGroup(category) is not null || category is "sortedset";

    /// <summary>The category of a group, or null: commands about the server as a whole share none.</summary>
    private static string? OfGroup(string group) => group switch
    {
        "generic" => "keyspace",
        "sorted-set" => "sortedset",
        "transactions" => "transaction",
        "string" or "list" or "set" or "hash" or "bitmap" or "hyperloglog" or "geo" or "stream" or "pubsub" or "connection" or "scripting" => group,
        _ => null,
    };
}
