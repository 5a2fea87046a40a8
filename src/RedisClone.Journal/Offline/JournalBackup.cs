using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Offline;

/// <summary>
/// Copies a journal while it is being written. All files but the last are immutable, and the last one only grows.
/// </summary>
internal static class JournalBackup
{
    public static string? Copy(JournalDirectory source, Manifest manifest, long lastLength, JournalNames target)
    {
        (IDisk disk, JournalNames names) = (source.Disk, source.Names);
        try
        {
            if (disk.DirectoryExists(target.Directory)) return $"{target.Directory} exists already";
            disk.CreateDirectory(target.Directory);
            disk.FlushDirectory(target.Root);
            string last = manifest.Increments[^1].Name;
            // The directory is opened before the files are copied: opening refuses files without a manifest.
            using var copy = JournalDirectory.TryOpen(disk, target, out string? error);
            if (copy is null) return error;
            foreach (ManifestFile file in manifest.Files)
            {
                string path = names.PathOf(file.Name);
                FileCopy.Copy(disk, path, target.PathOf(file.Name), file.Name == last ? lastLength : LengthOf(disk, path));
            }
            copy.Publish(manifest.WithoutHistory());
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }

    private static long LengthOf(IDisk disk, string path)
    {
        using IDiskFile file = disk.Open(path, DiskOpen.Read);
        return file.Length;
    }
}
