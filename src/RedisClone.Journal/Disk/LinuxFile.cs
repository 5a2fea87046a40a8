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
    private const int NoFollow = 0x100; // AT_SYMLINK_NOFOLLOW
    private const int StructureSize = 256;
    private const int ModeOffset = 28;
    private const int TypeMask = 0xF000; // S_IFMT
    private const int RegularType = 0x8000; // S_IFREG
    private const int DirectoryType = 0x4000; // S_IFDIR

    // ENOENT and ENOTDIR: there is no such file. ENOSYS and EPERM: the kernel, or a filter of system calls, has no statx.
    private const int NoEntry = 2;
    private const int NoDirectory = 20;
    private const int NoCall = 38;
    private const int NotPermitted = 1;

    /// <summary>
    /// Finds the type of the file that a path leads to: null if there is none. Returns false if the system cannot tell
    /// types. Any other error is thrown, because a file that cannot be examined may exist.
    /// </summary>
    /// <param name="path">The path.</param>
    /// <param name="type">The type. A symbolic link that is not followed is special.</param>
    /// <param name="follow">Whether symbolic links are followed.</param>
    public static bool TryTypeOf(string path, out LinuxFileType? type, bool follow = true)
    {
        type = null;
        byte[] structure = new byte[StructureSize];
        try
        {
            if (StatX(CurrentDirectory, path, follow ? 0 : NoFollow, TypeField, structure) != 0)
            {
                int error = Marshal.GetLastPInvokeError();
                return error switch
                {
                    NoEntry or NoDirectory => true,
                    NoCall or NotPermitted => false,
                    _ => throw new IOException($"{path}: {Marshal.GetPInvokeErrorMessage(error)}", error),
                };
            }
        }
        catch (EntryPointNotFoundException)
        {
            // The C library is older than statx.
            return false;
        }
        type = (BitConverter.ToUInt16(structure, ModeOffset) & TypeMask) switch
        {
            RegularType => LinuxFileType.Regular,
            DirectoryType => LinuxFileType.Directory,
            _ => LinuxFileType.Special,
        };
        return true;
    }

    [DllImport("libc", EntryPoint = "statx", SetLastError = true)]
    private static extern int StatX(
        int directory, [MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags, uint mask, [Out] byte[] structure);
}
