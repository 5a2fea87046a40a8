namespace RedisClone.Journal.Disk;

/// <summary>How a file is opened.</summary>
public enum DiskOpen
{
    /// <summary>An existing file, for reading only.</summary>
    Read,

    /// <summary>An existing file, for reading and writing in place.</summary>
    Existing,

    /// <summary>A new, empty file. It replaces an existing file of the same name.</summary>
    New,
}

/// <summary>
/// The file system operations that the journal uses. Tests run the whole engine on a simulated implementation. A failed
/// call throws <see cref="IOException"/> or <see cref="UnauthorizedAccessException"/> and no other exception.
/// </summary>
/// <remarks>
/// Two things survive a power loss: the bytes of a file after <see cref="IDiskFile.Flush"/>, and the names in a
/// directory (creation, rename, deletion) after <see cref="FlushDirectory"/>. A rename is atomic whether or not it
/// survives.
/// </remarks>
public interface IDisk
{
    /// <summary>Opens a regular file. Any other file is a failure, because an open of a FIFO blocks.</summary>
    IDiskFile Open(string path, DiskOpen how);

    /// <summary>Whether there is a file that is no directory. A file that cannot be examined is a failure.</summary>
    bool Exists(string path);

    /// <inheritdoc cref="Exists"/>
    bool DirectoryExists(string path);

    /// <summary>Creates the directory if it does not exist.</summary>
    void CreateDirectory(string path);

    /// <summary>Returns the names (not paths) of the files directly in a directory.</summary>
    IReadOnlyList<string> List(string directory);

    /// <summary>Renames a file and replaces the target.</summary>
    void Rename(string from, string to);

    /// <summary>Deletes a file. Does nothing if the file does not exist.</summary>
    void Delete(string path);

    void FlushDirectory(string path);

    /// <summary>
    /// Locks the file until the returned object is disposed. Returns null if another process holds the lock.
    /// </summary>
    IDisposable? TryLock(string path);
}

/// <summary>An open file. Every offset is explicit, so callers share no file position.</summary>
public interface IDiskFile : IDisposable
{
    long Length { get; }

    /// <summary>Reads up to <paramref name="into"/>.Length bytes. Returns zero at the end of the file.</summary>
    int Read(long offset, Span<byte> into);

    void Write(long offset, ReadOnlySpan<byte> bytes);

    /// <summary>Writes the parts in order, with one system call if the system supports it.</summary>
    void Write(long offset, IReadOnlyList<ReadOnlyMemory<byte>> parts);

    /// <summary>Returns when all written bytes and the length of the file would survive a power loss.</summary>
    void Flush();

    void Truncate(long length);
}
