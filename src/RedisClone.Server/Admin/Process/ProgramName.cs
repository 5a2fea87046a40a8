namespace RedisClone.Server.Admin;

/// <summary>What the program is called by who started it: RedisClone.Server, or redisclone as a .NET tool. Help is written for the first.</summary>
internal static class ProgramName
{
    private const string Written = "RedisClone.Server";

    private static string Own => Path.GetFileName(Environment.ProcessPath) is { } name and not ("dotnet" or "dotnet.exe") ? name : Written;

    public static string In(string help) => help.Replace(Written, Own, StringComparison.Ordinal);
}
