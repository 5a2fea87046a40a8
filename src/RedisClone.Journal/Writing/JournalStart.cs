using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Writing;

/// <summary>
/// What every start does to the directory before it writes: what was cut is truncated, what was kept is flushed (after a kill it may be
/// in the system's cache only), what holds nothing is dropped. A crash at any point leaves what the next start reads the same way.
/// </summary>
internal static class JournalStart
{
    public static void Prepare(JournalDirectory directory, JournalReport report)
    {
        var (disk, names) = (directory.Disk, directory.Names);
        foreach (var leftover in new[] { names.TemporaryManifest, names.TemporaryIncrement, names.TemporaryBase })
            disk.Delete(names.PathOf(leftover));

        var dropped = report.DroppedFiles.ToHashSet();
        foreach (var file in report.Files)
            if (file.HoldsNothing && file.Kind == ManifestFileKind.Increment) dropped.Add(file.Name);
        var manifest = directory.Manifest;
        if (dropped.Count > 0 || manifest.History.Count > 0)
        {
            // First struck from the manifest, then deleted: a manifest must not name what is not there.
            var gone = manifest.History.Concat(manifest.Increments.Where(f => dropped.Contains(f.Name))).Select(f => f.Name).ToArray();
            directory.Publish(manifest.WithoutHistory().WithoutIncrements(f => dropped.Contains(f.Name)));
            foreach (var name in gone) disk.Delete(names.PathOf(name));
        }
        foreach (var file in report.Files)
            if (!dropped.Contains(file.Name)) Settle(disk, names.PathOf(file.Name), file.Kept);
    }

    private static void Settle(IDisk disk, string path, long kept)
    {
        using var file = disk.Open(path, DiskOpen.Existing);
        if (file.Length > kept) file.Truncate(kept);
        file.Flush();
    }
}
