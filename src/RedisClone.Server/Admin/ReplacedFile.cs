using RedisClone.Journal.Disk;

namespace RedisClone.Server.Admin;

/// <summary>Files that the server writes anew as a whole, and that may hold secrets: the configuration and the users.</summary>
internal static class ReplacedFile
{
    /// <summary>
    /// Writes, flushes, renames, flushes the directory: after a power loss there is the old file or the new one. Null, or why not; what goes wrong in
    /// making the content counts too.
    /// </summary>
    public static string? Write(string path, Func<byte[]> content)
    {
        string temporary = $"{path}.{Environment.ProcessId}.tmp";
        try
        {
            byte[] bytes = content();
            using (var file = new FileStream(temporary, OwnAlone()))
            {
                if (!OperatingSystem.IsWindows() && File.Exists(path)) File.SetUnixFileMode(file.SafeFileHandle, File.GetUnixFileMode(path));
                file.Write(bytes);
                file.Flush(flushToDisk: true);
            }
            RealDisk.Instance.Rename(temporary, path);
            RealDisk.Instance.FlushDirectory(Path.GetDirectoryName(path)!);
            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            if (File.Exists(temporary)) File.Delete(temporary);
            return ConfigFiles.Reason(e);
        }
    }

    /// <summary>So it stays, unless an old file has other permissions.</summary>
    private static FileStreamOptions OwnAlone()
    {
        var options = new FileStreamOptions { Mode = FileMode.Create, Access = FileAccess.Write };
        if (!OperatingSystem.IsWindows()) options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        return options;
    }
}
