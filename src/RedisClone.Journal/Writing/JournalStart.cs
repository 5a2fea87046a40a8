using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Writing;

/// <summary>
/// Prepares the directory at every start: truncates the cut parts, flushes the kept parts (after a kill they may be in
/// the page cache only) and drops increments that hold nothing. After a crash at any point, the next start reads the
/// same data.
/// </summary>
internal static class JournalStart
{
    /// <summary>
    /// Truncates and flushes the files that count and returns the manifest without the others. The caller publishes the
    /// manifest together with the new increment, because alone it might be empty, which no loader accepts.
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
    /// Returns true if the next increment can be opened by the first write, because nothing has to be written to the
    /// disk before. A server that is started only to read its data then leaves the files unchanged.
    /// </summary>
    public static bool MayWait(JournalDirectory directory, JournalReport report, Manifest kept, WriterTuning tuning)
    {
        if (!kept.Files.SequenceEqual(directory.Manifest.Files) || directory.Manifest.History.Count > 0
            || report.Files.Count == 0)
            return false;
        JournalFileReport last = report.Files[^1];
        return last.Kind == ManifestFileKind.Increment && (last.IsOurs ? last.IsSealed : last.Kept <= tuning.LargestAdopted);
    }

    /// <summary>Deletes the files that only the previous manifest names.</summary>
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
