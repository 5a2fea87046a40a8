using System.Buffers.Binary;
using RedisClone.Journal.Disk;

namespace RedisClone.Server.Durability;

/// <summary>What tells a snapshot's file from another by the same name: its length, and its end, which is a checksum of the whole.</summary>
internal readonly record struct FileMark(long Length, long End)
{
    /// <summary>Null where there is no such file, or where nothing can be learnt of it.</summary>
    public static FileMark? Of(IDisk disk, string path)
    {
        try
        {
            if (!disk.Exists(path)) return null;
            using IDiskFile file = disk.Open(path, DiskOpen.Read);
            Span<byte> end = stackalloc byte[sizeof(long)];
            file.Read(Math.Max(file.Length - end.Length, 0), end);
            return new FileMark(file.Length, BinaryPrimitives.ReadInt64LittleEndian(end));
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return null;
        }
    }
}
