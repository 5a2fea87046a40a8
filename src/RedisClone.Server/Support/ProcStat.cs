namespace RedisClone.Server.Support;

/// <summary>The file stat of a process or of a thread, as proc(5) describes it.</summary>
internal static class ProcStat
{
    /// <summary>The number of the first field after the name of the program, which may contain blanks.</summary>
    public const int First = 3;

    /// <summary>The fields after the name of the program.</summary>
    public static string[] Fields(string stat) => stat[(stat.LastIndexOf(')') + 1)..].Split(' ', StringSplitOptions.RemoveEmptyEntries);
}
