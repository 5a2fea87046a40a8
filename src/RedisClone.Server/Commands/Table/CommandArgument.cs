namespace RedisClone.Server.Commands;

/// <summary>What an argument is, in the terms of COMMAND DOCS.</summary>
internal enum ArgumentKind
{
    Text,
    Integer,
    Double,
    Key,
    Pattern,
    UnixTime,

    /// <summary>A word to be written as it is.</summary>
    Word,

    /// <summary>One of several.</summary>
    Choice,

    /// <summary>Several, one after the other.</summary>
    Block,
}

/// <summary>One argument of a command, or a group of them, as <see cref="CommandSyntax"/> reads it from the command's usage.</summary>
internal sealed record CommandArgument(ArgumentKind Kind, string Name)
{
    /// <summary>The word that comes before it.</summary>
    public string? Token { get; init; }

    public bool IsOptional { get; init; }

    /// <summary>It may come several times, with its token each time or only the first.</summary>
    public bool IsRepeated { get; init; }

    public bool RepeatsToken { get; init; }

    public CommandArgument[] Parts { get; init; } = [];

    /// <summary>What a group that begins with it is called.</summary>
    public string GroupName => Token?.ToLowerInvariant() ?? Name;

    /// <summary>How many words of a request it is at least.</summary>
    public int MinWords => IsOptional ? 0 : OnceWords;

    /// <summary>Whether it is always so many.</summary>
    public bool IsExact => !IsOptional && !IsRepeated &&
        Parts.All(part => part.IsExact) && (Kind != ArgumentKind.Choice || Parts.All(part => part.MinWords == Parts[0].MinWords));

    private int OnceWords => Kind switch
    {
        ArgumentKind.Word => 1,
        ArgumentKind.Choice => Parts.Min(part => part.MinWords),
        ArgumentKind.Block => Parts.Sum(part => part.MinWords),
        _ => 1,
    } + (Token is not null && Kind != ArgumentKind.Word ? 1 : 0);
}
