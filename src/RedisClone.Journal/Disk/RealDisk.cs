using Microsoft.Win32.SafeHandles;

namespace RedisClone.Journal.Disk;

/// <summary>
/// The file system of the machine. On Linux a flush is fdatasync, and directory flushes are real. On other systems a
/// directory flush does nothing.
/// </summary>
public sealed class RealDisk : IDisk
{
    // The error codes of an exclusive open while another process has the file open: EAGAIN, EWOULDBLOCK and
    // ERROR_SHARING_VIOLATION.
    private const int LockedLinux = 11;
    private const int LockedMac = 35;
    private const int LockedWindows = unchecked((int)0x80070020);

    public static RealDisk Instance { get; } = new();

    private RealDisk() { }

    public IDiskFile Open(string path, DiskOpen how)
    {
        FileMode mode = how == DiskOpen.New ? FileMode.Create : FileMode.Open;
        FileAccess access = how == DiskOpen.Read ? FileAccess.Read : FileAccess.ReadWrite;

        RefuseSpecial(path);

        // The share mode lets redis-check-aof, backups and the server's offline commands read the files while the
        // server runs.
        return new RealFile(File.OpenHandle(path, mode, access, FileShare.ReadWrite | FileShare.Delete));
    }

    /// <summary>A file that is open already, for one that is created with a mode of its own.</summary>
    public static IDiskFile FileOf(SafeFileHandle handle) => new RealFile(handle);

    public bool Exists(string path) => OperatingSystem.IsLinux() && LinuxFile.TryTypeOf(path, out LinuxFileType? type)
        ? type is LinuxFileType.Regular or LinuxFileType.Special || type is null && IsLink(path)
        : File.Exists(path);

    public bool DirectoryExists(string path) => OperatingSystem.IsLinux() && LinuxFile.TryTypeOf(path, out LinuxFileType? type)
        ? type == LinuxFileType.Directory
        : Directory.Exists(path);

    public void CreateDirectory(string path) => Directory.CreateDirectory(path);

    public IReadOnlyList<string> List(string directory)
    {
        string[] names = Directory.GetFiles(directory);
        for (int i = 0; i < names.Length; i++) names[i] = Path.GetFileName(names[i]);
        return names;
    }

    public void Rename(string from, string to) => File.Move(from, to, overwrite: true);

    public void Delete(string path) => File.Delete(path);

    public void FlushDirectory(string path)
    {
        if (OperatingSystem.IsLinux()) LinuxFlush.Directory(path);
    }

    public IDisposable? TryLock(string path)
    {
        RefuseSpecial(path);
        try
        {
            return new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (IOException error) when (error.HResult is LockedLinux or LockedMac or LockedWindows)
        {
            return null;
        }
    }

    /// <summary>Whether the path is a symbolic link to nothing, as to a volume that is not mounted. Its file exists elsewhere.</summary>
    private static bool IsLink(string path) => LinuxFile.TryTypeOf(path, out LinuxFileType? type, follow: false) && type == LinuxFileType.Special;

    private static void RefuseSpecial(string path)
    {
        if (OperatingSystem.IsLinux() && LinuxFile.TryTypeOf(path, out LinuxFileType? type) && type is not (null or LinuxFileType.Regular))
            throw new IOException(path + (type == LinuxFileType.Directory ? " is a directory" : " is not a regular file"));
    }

    private sealed class RealFile(SafeFileHandle handle) : IDiskFile
    {
        public long Length => RandomAccess.GetLength(handle);

        public int Read(long offset, Span<byte> into) => RandomAccess.Read(handle, into, offset);

        public void Write(long offset, ReadOnlySpan<byte> bytes)
        {
            try
            {
                RandomAccess.Write(handle, bytes, offset);
            }
            catch (ArgumentOutOfRangeException error)
            {
                throw TooLarge(error);
            }
        }

        public void Write(long offset, IReadOnlyList<ReadOnlyMemory<byte>> parts)
        {
            try
            {
                RandomAccess.Write(handle, parts, offset);
            }
            catch (ArgumentOutOfRangeException error)
            {
                throw TooLarge(error);
            }
        }

        /// <summary>
        /// The runtime reports EFBIG as an argument exception. EFBIG is the limit of the file system or of the process.
        /// </summary>
        private static IOException TooLarge(ArgumentOutOfRangeException error) => new("File too large", error);

        public void Flush()
        {
            if (OperatingSystem.IsLinux()) LinuxFlush.Data(handle);
            else RandomAccess.FlushToDisk(handle);
        }

        public void Truncate(long length) => RandomAccess.SetLength(handle, length);

        public void Dispose() => handle.Dispose();
    }
}
