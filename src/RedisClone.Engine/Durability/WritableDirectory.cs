using System.Globalization;
using System.Runtime.InteropServices;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Checks whether this process can write to its data directory. The check runs at startup, when an operator is likely to read
/// the log, and not only at shutdown.
/// </summary>
internal static partial class WritableDirectory
{
    /// <summary>
    /// Returns null, or a text with the user, the directory and the error. The check creates a file, because permissions are
    /// not the only possible obstacle.
    /// </summary>
    /// <param name="disk">The file system.</param>
    /// <param name="probe">The path of a file that does not exist yet.</param>
    public static string? Problem(IDisk disk, string probe)
    {
        try
        {
            disk.Open(probe, DiskOpen.New).Dispose();
            disk.Delete(probe);
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            string user = OperatingSystem.IsWindows() ? Environment.UserName : string.Create(CultureInfo.InvariantCulture, $"uid {EffectiveUser()}");
            return $"{user} cannot write to the directory {Path.GetDirectoryName(probe)} ({ConfigFiles.Reason(failure)})";
        }
    }

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint EffectiveUser();
}
