using System.Reflection;

namespace RedisClone.Configuration;

/// <summary>The versions that this server reports.</summary>
internal static class ServerVersion
{
    /// <summary>
    /// The version of Redis that this server is compatible with in behaviour, parameters and error texts. Clients select
    /// features by it.
    /// </summary>
    public const string Redis = "7.4.1";

    public static string Own { get; } = typeof(ServerVersion).Assembly.GetName().Version?.ToString(3) ?? "0.0.0";

    public static string? Commit { get; } =
        typeof(ServerVersion).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()
            ?.InformationalVersion.Split('+') is [_, { Length: >= 8 } commit]
            ? commit[..8]
            : null;
}
