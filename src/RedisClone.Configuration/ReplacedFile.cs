using RedisClone.Journal.Disk;

namespace RedisClone.Configuration;

/// <summary>Replaces files that may contain secrets: the configuration and the ACL file.</summary>
internal static class ReplacedFile
{
    /// <summary>Two threads that write the same file use the same temporary file, so one waits for the other.</summary>
    private static readonly Lock s_writing = new();

    /// <summary>
    /// Writes and flushes a temporary file, renames it, and flushes the directory: after a power loss, either the old or the
    /// new file exists.
    /// </summary>
    /// <param name="path">The file.</param>
    /// <param name="content">Creates the content. Its I/O errors are reported like those of the write.</param>
    /// <returns>Null, or the reason for the failure.</returns>
    public static string? Write(string path, Func<byte[]> content)
    {
        if (IsDevice(path)) return "it is a device, which the file would replace";
        string temporary = $"{path}.{Environment.ProcessId}.tmp";
        using Lock.Scope scope = s_writing.EnterScope();
        try
        {
            byte[] bytes = content();
            using (var created = new FileStream(temporary, OwnAlone()))
            using (IDiskFile file = RealDisk.FileOf(created.SafeFileHandle))
            {
                if (!OperatingSystem.IsWindows() && File.Exists(path)) File.SetUnixFileMode(created.SafeFileHandle, File.GetUnixFileMode(path));
                file.Write(0, bytes);
                file.Flush();
            }
            RealDisk.Instance.Rename(temporary, path);
            RealDisk.Instance.FlushDirectory(Path.GetDirectoryName(path)!);
            return null;
        }
        catch (Exception e) when (DiskFailure.Is(e))
        {
            // If that fails too, the reason of the first failure is reported, and the next write replaces the file.
            RealDisk.Instance.TryDelete(temporary);
            return ConfigFiles.Reason(e);
        }
    }

    private static bool IsDevice(string path) =>
        path.StartsWith("/dev/", StringComparison.Ordinal) && !path.StartsWith("/dev/shm/", StringComparison.Ordinal)
        || path.StartsWith("/proc/", StringComparison.Ordinal);

    /// <summary>Creates the file with access for the owner only. The mode of an existing file replaces this mode.</summary>
    private static FileStreamOptions OwnAlone()
    {
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows()) options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        return options;
    }
}
