namespace RedisClone.Journal.Disk;

/// <summary>How a file is opened.</summary>
public enum DiskOpen
{
    /// <summary>An existing file, for reading only.</summary>
    Read,

    /// <summary>An existing file, for reading and writing in place.</summary>
    Existing,

    /// <summary>A new, empty file; what was there under the name is gone.</summary>
    New,
}

/// <summary>
/// Everything the journal asks of a file system, and nothing more, so that the tests can run the whole engine on a
/// simulated one. A call that fails throws <see cref="IOException"/> or <see cref="UnauthorizedAccessException"/>;
/// nothing else escapes.
/// </summary>
/// <remarks>
/// What survives a power loss: bytes of a file after <see cref="IDiskFile.Flush"/>, names of a directory (creation,
/// rename, deletion) after <see cref="FlushDirectory"/>. A rename is atomic whether it survives or not.
/// </remarks>
public interface IDisk
{
    IDiskFile Open(string path, DiskOpen how);

    bool Exists(string path);

    bool DirectoryExists(string path);

    /// <summary>Creates the directory where it is missing.</summary>
    void CreateDirectory(string path);

    /// <summary>The names (not paths) of the files directly in a directory.</summary>
    IReadOnlyList<string> List(string directory);

    /// <summary>Renames, replacing the target.</summary>
    void Rename(string from, string to);

    /// <summary>Deletes a file; nothing happens where there is none.</summary>
    void Delete(string path);

    void FlushDirectory(string path);

    /// <summary>Takes the lock file for as long as the returned object lives, or returns null while another holds it.</summary>
    IDisposable? TryLock(string path);
}

/// <summary>An open file. Offsets are explicit: there is no position to share.</summary>
public interface IDiskFile : IDisposable
{
    long Length { get; }

    /// <summary>Reads up to <paramref name="into"/>.Length bytes; zero means the end of the file.</summary>
    int Read(long offset, Span<byte> into);

    void Write(long offset, ReadOnlySpan<byte> bytes);

    /// <summary>Writes the parts one after the other, with one system call where the system has one.</summary>
    void Write(long offset, IReadOnlyList<ReadOnlyMemory<byte>> parts);

    /// <summary>Returns when all bytes written, and the length, would survive a power loss.</summary>
    void Flush();

    void Truncate(long length);
}
