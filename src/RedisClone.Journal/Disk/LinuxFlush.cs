using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RedisClone.Journal.Disk;

/// <summary>
/// The two flush operations that .NET does not offer: fdatasync and fsync of a directory. The flush of .NET is fsync,
/// which also makes the modification time durable. That costs a second write to the device for every group.
/// </summary>
internal static class LinuxFlush
{
    private const int ReadOnlyCloseOnExec = 0x80000; // O_RDONLY | O_CLOEXEC
    private const int Interrupted = 4; // EINTR

    public static void Data(SafeFileHandle handle)
    {
        while (FDataSync(handle) != 0)
        {
            int error = Marshal.GetLastPInvokeError();
            if (error != Interrupted) throw Failure("fdatasync", error);
        }
    }

    public static void Directory(string path)
    {
        nint fd = Open(path, ReadOnlyCloseOnExec, 0);
        if (fd < 0) throw Failure("open " + path, Marshal.GetLastPInvokeError());
        using var handle = new SafeFileHandle(fd, ownsHandle: true);
        while (FSync(handle) != 0)
        {
            int error = Marshal.GetLastPInvokeError();
            if (error != Interrupted) throw Failure("fsync " + path, error);
        }
    }

    private static IOException Failure(string what, int error) => new($"{what}: {Marshal.GetPInvokeErrorMessage(error)}", error);

    [DllImport("libc", EntryPoint = "fdatasync", SetLastError = true)]
    private static extern int FDataSync(SafeFileHandle fd);

    [DllImport("libc", EntryPoint = "fsync", SetLastError = true)]
    private static extern int FSync(SafeFileHandle fd);

    [DllImport("libc", EntryPoint = "open", SetLastError = true)]
    private static extern nint Open([MarshalAs(UnmanagedType.LPUTF8Str)] string path, int flags, int mode);
}
