using System.Globalization;
using System.Runtime.InteropServices;
using RedisClone.Journal.Disk;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Durability;

/// <summary>Whether this process may write where it is to keep its data: found out at the start, where somebody reads it, and not at the end.</summary>
internal static partial class WritableDirectory
{
    /// <summary>Null, or who cannot write where, and why. Only a file that was made tells: permissions are not all that can be in the way.</summary>
    /// <param name="disk">Where it is.</param>
    /// <param name="probe">The path of a file that nobody has.</param>
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
