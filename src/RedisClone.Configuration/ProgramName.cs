namespace RedisClone.Configuration;

/// <summary>
/// The name of the executable: RedisClone.Server, or redisclone as a .NET tool. The help texts contain the first name.
/// </summary>
internal static class ProgramName
{
    private const string Written = "RedisClone.Server";

    private static string Own => Path.GetFileName(Environment.ProcessPath) is { } name and not ("dotnet" or "dotnet.exe") ? name : Written;

    public static string In(string help) => help.Replace(Written, Own, StringComparison.Ordinal);
}
