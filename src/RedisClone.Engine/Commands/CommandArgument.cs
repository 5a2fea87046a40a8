namespace RedisClone.Engine.Commands;

/// <summary>The kind of an argument, in the terms of COMMAND DOCS.</summary>
internal enum ArgumentKind
{
    Text,
    Integer,
    Double,
    Key,
    Pattern,
    UnixTime,

    /// <summary>A literal word.</summary>
    Word,

    /// <summary>One of several alternatives.</summary>
    Choice,

    /// <summary>Several arguments in sequence.</summary>
    Block,
}

/// <summary>One argument of a command, or a group of arguments; see <see cref="CommandSyntax"/>.</summary>
internal sealed record CommandArgument(ArgumentKind Kind, string Name)
{
    /// <summary>The literal word before the value.</summary>
    public string? Token { get; init; }

    public bool IsOptional { get; init; }

    /// <summary>Whether the argument may be repeated. With <see cref="RepeatsToken"/>, its token is repeated too.</summary>
    public bool IsRepeated { get; init; }

    public bool RepeatsToken { get; init; }

    public CommandArgument[] Parts { get; init; } = [];

    /// <summary>The name of a group that begins with this argument.</summary>
    public string GroupName => Token?.ToLowerInvariant() ?? Name;

    /// <summary>The least number of words of a request that the argument takes.</summary>
    public int MinWords => IsOptional ? 0 : OnceWords;

    /// <summary>Whether the argument always takes exactly that many words.</summary>
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
