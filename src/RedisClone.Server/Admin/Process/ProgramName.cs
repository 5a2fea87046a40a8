namespace RedisClone.Server.Admin;

/// <summary>The name under which the program was started: RedisClone.Server, or redisclone as a .NET tool. The help text is written for the first.</summary>
internal static class ProgramName
{
    private const string Written = "RedisClone.Server";

    private static string Own => Path.GetFileName(Environment.ProcessPath) is { } name and not ("dotnet" or "dotnet.exe") ? name : Written;

    public static string In(string help) => help.Replace(Written, Own, StringComparison.Ordinal);
}
