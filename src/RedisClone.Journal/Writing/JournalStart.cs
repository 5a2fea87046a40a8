using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Writing;

/// <summary>
/// What every start does to the directory: what was cut is truncated, what was kept is flushed (after a kill it may be in
/// the system's cache only), what holds nothing is dropped. A crash at any point leaves what the next start reads the same
/// way.
/// </summary>
internal static class JournalStart
{
    /// <summary>
    /// Settles the files that count, and returns the manifest without the others. It is published together with the new
    /// increment: alone it might be empty, which no loader takes.
    /// </summary>
    public static Manifest Prepare(JournalDirectory directory, JournalReport report)
    {
        (IDisk disk, JournalNames names) = (directory.Disk, directory.Names);
        foreach (string leftover in new[] { names.TemporaryManifest, names.TemporaryIncrement, names.TemporaryBase })
            disk.Delete(names.PathOf(leftover));
        var dropped = report.DroppedFiles.ToHashSet();
        foreach (JournalFileReport file in report.Files)
        {
            if (file.HoldsNothing && file.Kind == ManifestFileKind.Increment) dropped.Add(file.Name);
            else Settle(disk, names.PathOf(file.Name), file.Kept);
        }
        return directory.Manifest.WithoutHistory().WithoutIncrements(f => dropped.Contains(f.Name));
    }

    /// <summary>
    /// Whether the next increment may begin with the first write: nothing has to be told to the disk before. So a server that is started only to be
    /// looked into leaves the files as they are.
    /// </summary>
    public static bool MayWait(JournalDirectory directory, JournalReport report, Manifest kept, WriterTuning tuning)
    {
        if (!kept.Files.SequenceEqual(directory.Manifest.Files) || directory.Manifest.History.Count > 0 || report.Files.Count == 0) return false;
        JournalFileReport last = report.Files[^1];
        return last.Kind == ManifestFileKind.Increment && (last.IsOurs ? last.IsSealed : last.Kept <= tuning.LargestAdopted);
    }

    /// <summary>Deletes what the manifest named before and names no more.</summary>
    public static void DeleteDropped(JournalDirectory directory, Manifest before)
    {
        var named = directory.Manifest.Files.Select(f => f.Name).ToHashSet();
        foreach (ManifestFile file in before.Files.Concat(before.History))
            if (!named.Contains(file.Name)) directory.Disk.Delete(directory.Names.PathOf(file.Name));
    }

    private static void Settle(IDisk disk, string path, long kept)
    {
        using IDiskFile file = disk.Open(path, DiskOpen.Existing);
        if (file.Length > kept) file.Truncate(kept);
        file.Flush();
    }
}
