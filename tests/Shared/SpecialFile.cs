using System.Runtime.InteropServices;

namespace RedisClone.Tests;

/// <summary>Files that are not regular.</summary>
internal static class SpecialFile
{
    private const uint OwnerOnly = 0b110_000_000;

    public static void MakeFifo(string path)
    {
        if (MakeFifo(path, OwnerOnly) != 0) throw new IOException($"mkfifo {path}: {Marshal.GetLastPInvokeErrorMessage()}");
    }

    [DllImport("libc", EntryPoint = "mkfifo", SetLastError = true)]
    private static extern int MakeFifo([MarshalAs(UnmanagedType.LPUTF8Str)] string path, uint mode);
}
