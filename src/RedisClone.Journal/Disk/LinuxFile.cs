using System.Runtime.InteropServices;

namespace RedisClone.Journal.Disk;

/// <summary>The types of files that callers distinguish.</summary>
internal enum LinuxFileType
{
    Regular,
    Directory,

    /// <summary>A FIFO, a device or a socket.</summary>
    Special,
}

/// <summary>
/// The type of a file, which .NET does not tell. The call is statx, because its structure is the same on every processor.
/// </summary>
internal static class LinuxFile
{
    private const int CurrentDirectory = -100; // AT_FDCWD
    private const uint TypeField = 1; // STATX_TYPE
    private const int StructureSize = 256;
    private const int ModeOffset = 28;
    private const int TypeMask = 0xF000; // S_IFMT
    private const int RegularType = 0x8000; // S_IFREG
    private const int DirectoryType = 0x4000; // S_IFDIR

    /// <summary>
    /// Returns the type of the file that a path or its symbolic links lead to. Returns null if the file does not exist or cannot
    /// be examined; opening it then reports the reason.
    /// </summary>
    public static LinuxFileType? TypeOf(string path)
    {
        byte[] structure = new byte[StructureSize];
        try
        {
            if (StatX(CurrentDirectory, path, 0, TypeField, structure) != 0) return null;
        }
        catch (EntryPointNotFoundException)
        {
            // The C library is older than statx.
            return null;
        }
        return (BitConverter.ToUInt16(structure, ModeOffset) & TypeMask) switch
        {
            RegularType => LinuxFileType.Regular,
            DirectoryType => LinuxFileType.Directory,
            _ => LinuxFileType.Special,
        };
    }

    [DllImport("libc", EntryPoint = "statx", SetLastError = true)]
    private static extern int StatX(
        int directory, [MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags, uint mask, [Out] byte[] structure);
}
