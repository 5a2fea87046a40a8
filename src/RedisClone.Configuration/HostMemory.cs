using System.Globalization;

namespace RedisClone.Configuration;

/// <summary>
/// The memory that is available to this process: that of the machine, or the lowest limit of its control group (version 2 or 1)
/// and the groups above it. Inside a container, the container's group appears as the root.
/// </summary>
internal static class HostMemory
{
    /// <param name="root">The directory that contains /proc and /sys; tests use another one.</param>
    /// <param name="otherwise">The result if nothing can be read.</param>
    public static long Read(string root, long otherwise)
    {
        long least = Kilobytes(Lines(Path.Combine(root, "proc/meminfo"))
            .FirstOrDefault(line => line.StartsWith("MemTotal:", StringComparison.Ordinal))) ?? otherwise;
        foreach (string line in Lines(Path.Combine(root, "proc/self/cgroup")))
        {
            // The format is hierarchy:controllers:path. In version 2, the hierarchy is 0 and there are no controllers.
            string[] parts = line.Split(':', 3);
            if (parts.Length < 3) continue;
            if (parts[1].Length == 0) least = Math.Min(least, LeastOf(Path.Combine(root, "sys/fs/cgroup"), parts[2], "memory.max"));
            else if (parts[1].Split(',').Contains("memory"))
                least = Math.Min(least, LeastOf(Path.Combine(root, "sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes"));
        }
        return least;
    }

    /// <summary>The lowest limit of a group and all groups above it.</summary>
    private static long LeastOf(string mount, string group, string file)
    {
        long least = long.MaxValue;
        for (string path = group.Trim('/'); ; path = Path.GetDirectoryName(path) ?? "")
        {
            // "max" does not parse, and its counterpart in version 1 is a huge number, so neither lowers the result.
            if (long.TryParse(Lines(Path.Combine(mount, path, file)).FirstOrDefault(), CultureInfo.InvariantCulture, out long limit))
                least = Math.Min(least, limit);
            if (path.Length == 0) return least;
        }
    }

    private static long? Kilobytes(string? line) =>
        line?.Split(' ', StringSplitOptions.RemoveEmptyEntries) is [_, var number, ..]
            && long.TryParse(number, CultureInfo.InvariantCulture, out long kilobytes)
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
