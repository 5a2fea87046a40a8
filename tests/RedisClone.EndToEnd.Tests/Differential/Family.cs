namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>Templates of requests that belong together; see <see cref="Families"/>.</summary>
/// <param name="Groups">The groups of the rows from which templates are derived.</param>
/// <param name="Lines">Further templates.</param>
internal sealed record Family(string[] Groups, string Lines)
{
    public Template[] Templates { get; } = Template.Parse(Lines);
}
