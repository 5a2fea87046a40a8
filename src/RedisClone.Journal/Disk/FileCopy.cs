namespace RedisClone.Journal.Disk;

/// <summary>Copies the first part of a file. The copy is durable when the call returns.</summary>
internal static class FileCopy
{
    private const int BufferSize = 1 << 20;

    /// <summary>Copies the first bytes of a file. <paramref name="copied"/> receives the length of each part.</summary>
    public static void Copy(IDisk disk, string from, string to, long length, Action<int>? copied = null)
    {
        using IDiskFile source = disk.Open(from, DiskOpen.Read);
        using IDiskFile copy = disk.Open(to, DiskOpen.New);
        byte[] buffer = new byte[(int)Math.Clamp(length, 1, BufferSize)];
        for (long done = 0; done < length;)
        {
            int read = source.Read(done, buffer.AsSpan(0, (int)Math.Min(buffer.Length, length - done)));
            if (read == 0) throw new IOException($"{from} became shorter during the copy");
            copy.Write(done, buffer.AsSpan(0, read));
            done += read;
            copied?.Invoke(read);
        }
        copy.Flush();
    }
}
