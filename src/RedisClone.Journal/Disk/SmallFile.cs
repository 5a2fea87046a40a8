namespace RedisClone.Journal.Disk;

/// <summary>Files that are read, written or deleted as a whole.</summary>
public static class SmallFile
{
    /// <summary>
    /// Reads a regular file. Returns null if it is longer than allowed. Throws if the disk fails or the file is of another kind.
    /// </summary>
    public static byte[]? ReadAll(this IDisk disk, string path, int longest)
    {
        using IDiskFile file = disk.Open(path, DiskOpen.Read);
        if (file.Length > longest) return null;
        byte[] bytes = new byte[file.Length];
        int length = 0;
        while (length < bytes.Length && file.Read(length, bytes.AsSpan(length)) is > 0 and var read) length += read;
        return length == bytes.Length ? bytes : bytes[..length];
    }

    /// <summary>
    /// Replaces a file by way of a temporary one, so that at any moment either the old or the new file exists. Throws if the disk fails.
    /// </summary>
    /// <param name="disk">The disk of the file.</param>
    /// <param name="path">The file.</param>
    /// <param name="content">The new content.</param>
    /// <param name="flush">Whether the new file would survive a power loss.</param>
    public static void Replace(this IDisk disk, string path, ReadOnlySpan<byte> content, bool flush = true)
    {
        string temporary = path + ".tmp";
        using (IDiskFile file = disk.Open(temporary, DiskOpen.New))
        {
            file.Write(0, content);
            if (flush) file.Flush();
        }
        disk.Rename(temporary, path);
        if (flush) disk.FlushDirectory(Path.GetDirectoryName(path)!);
    }

    /// <summary>
    /// Deletes a file that does no harm if it stays. A disk that fails to write may fail to delete too. Returns null, or the reason of the
    /// failure.
    /// </summary>
    public static string? TryDelete(this IDisk disk, string path)
    {
        try
        {
            disk.Delete(path);
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }
}
