using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Offline;

/// <summary>What can be done with a journal while no server runs on it. The journal itself is never changed.</summary>
public static class JournalTools
{
    /// <summary>Reads everything into the sink and reports what a start would keep, cut, or refuse.</summary>
    public static JournalReport Verify(IDisk disk, JournalNames names, ReadOptions options, IJournalSink sink)
    {
        try
        {
            return JournalDirectory.TryReadManifest(disk, names, out Manifest? manifest, out string? error)
                ? new JournalReader(disk, names, manifest, options).Read(sink)
                : new() { Outcome = JournalOutcome.Refused, File = names.Manifest, Reason = error };
        }
        catch (Exception error) when (DiskFailure.Is(error))
        {
            return new() { Outcome = JournalOutcome.Refused, File = names.DirectoryName, Reason = error.Message };
        }
    }

    /// <summary>
    /// Copies what is good, up to the first damage, into a directory that must not exist yet. A server starts on the copy.
    /// The report says what was left out; when it refuses, there is no copy.
    /// </summary>
    public static JournalReport Repair(IDisk disk, JournalNames names, JournalNames target)
    {
        if (disk.DirectoryExists(target.Directory))
            return new() { Outcome = JournalOutcome.Refused, File = target.Directory, Reason = "the directory for the copy exists already" };
        JournalReport report = Verify(disk, names, new(LoadTruncated: true, AcceptDamage: true), new StructureCheck());
        if (report.Outcome is JournalOutcome.Refused or JournalOutcome.Absent) return report;
        try
        {
            Copy(disk, names, target, report);
            return report;
        }
        catch (Exception error) when (DiskFailure.Is(error))
        {
            return report with { Outcome = JournalOutcome.Refused, File = target.Directory, Reason = error.Message };
        }
    }

    /// <summary>Copies a file and flushes the copy.</summary>
    public static void CopyFile(IDisk disk, string from, string to)
    {
        long length;
        using (IDiskFile file = disk.Open(from, DiskOpen.Read)) length = file.Length;
        FileCopy.Copy(disk, from, to, length);
    }

    private static void Copy(IDisk disk, JournalNames names, JournalNames target, JournalReport report)
    {
        disk.CreateDirectory(target.Directory);
        disk.FlushDirectory(target.Root);
        foreach (JournalFileReport file in report.Files) FileCopy.Copy(disk, names.PathOf(file.Name), target.PathOf(file.Name), file.Kept);
        _ = JournalDirectory.TryReadManifest(disk, names, out Manifest? manifest, out _);
        using JournalDirectory directory = JournalDirectory.TryOpen(disk, target, out string? error) ?? throw new IOException(error);
        directory.Publish(manifest.WithoutHistory().WithoutIncrements(f => report.DroppedFiles.Contains(f.Name)));
    }
}
