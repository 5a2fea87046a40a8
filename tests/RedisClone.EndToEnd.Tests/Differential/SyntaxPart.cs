namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>A part of the syntax of a command in the terms of COMMAND DOCS.</summary>
/// <param name="Type">string, integer, key, pure-token, oneof, block, …</param>
/// <param name="Name">The name that a manual shows.</param>
/// <param name="Token">The literal word before the part.</param>
/// <param name="IsOptional">Whether the part may be missing.</param>
/// <param name="IsRepeated">Whether the part may be repeated.</param>
/// <param name="RepeatsToken">Whether the token is repeated too.</param>
/// <param name="Parts">The alternatives of a oneof, the parts of a block.</param>
internal sealed record SyntaxPart(
    string Type, string Name, string? Token, bool IsOptional, bool IsRepeated, bool RepeatsToken, SyntaxPart[] Parts)
{
    public bool IsChoice => Type == "oneof";

    public bool IsWord => Type == "pure-token";

    /// <summary>Whether the part is the number of the parts after it.</summary>
    public bool IsNumberOfOthers => Type == "integer" && Name is "numkeys" or "numfields" or "numids";

    /// <summary>The literal words of the part.</summary>
    public IEnumerable<string> Words => Parts.SelectMany(p => p.Words).Concat(Token is null ? [] : [Token]);
}
