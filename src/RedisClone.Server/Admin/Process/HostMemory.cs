using System.Globalization;

namespace RedisClone.Server.Admin;

/// <summary>
/// The memory that this process can have: the machine's, or less where a control group (version 2 or 1) says so, its own or one above it. A
/// container sees its own group as the root.
/// </summary>
internal static class HostMemory
{
    /// <param name="root">Where /proc and /sys are; tests have their own.</param>
    /// <param name="otherwise">The answer where nothing can be read.</param>
    public static long Read(string root, long otherwise)
    {
        long least = Kilobytes(Lines(Path.Combine(root, "proc/meminfo")).FirstOrDefault(line => line.StartsWith("MemTotal:", StringComparison.Ordinal))) ?? otherwise;
        foreach (string line in Lines(Path.Combine(root, "proc/self/cgroup")))
        {
            // hierarchy:controllers:path; version 2 has neither a number nor controllers.
            string[] parts = line.Split(':', 3);
            if (parts.Length < 3) continue;
            if (parts[1].Length == 0) least = Math.Min(least, LeastOf(Path.Combine(root, "sys/fs/cgroup"), parts[2], "memory.max"));
            else if (parts[1].Split(',').Contains("memory")) least = Math.Min(least, LeastOf(Path.Combine(root, "sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes"));
        }
        return least;
    }

    /// <summary>The least limit of a group and of all above it.</summary>
    private static long LeastOf(string mount, string group, string file)
    {
        long least = long.MaxValue;
        for (string path = group.Trim('/'); ; path = Path.GetDirectoryName(path) ?? "")
        {
            // "max", and the huge number that stands for it in version 1, are no limits.
            if (long.TryParse(Lines(Path.Combine(mount, path, file)).FirstOrDefault(), CultureInfo.InvariantCulture, out long limit)) least = Math.Min(least, limit);
            if (path.Length == 0) return least;
        }
    }

    private static long? Kilobytes(string? line) =>
        line?.Split(' ', StringSplitOptions.RemoveEmptyEntries) is [_, var number, ..] && long.TryParse(number, CultureInfo.InvariantCulture, out long kilobytes)
            ? kilobytes * 1024 : null;

    private static string[] Lines(string path)
    {
        try
        {
            return File.ReadAllLines(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }
}
