using System.Buffers.Binary;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Distinguishes a snapshot file from another file of the same name, by its length and its last bytes, which are a checksum
/// of the whole.
/// </summary>
internal readonly record struct FileMark(long Length, long End)
{
    /// <summary>The mark of a file; null if it does not exist or cannot be read.</summary>
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
