using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Offline;

/// <summary>What can be done with a journal while no server runs on it. The journal itself is never changed.</summary>
public static class JournalTools
{
    private const int CopyBuffer = 1 << 20;

    /// <summary>Reads everything and reports what a start would keep, cut, or refuse.</summary>
    public static JournalReport Verify(IDisk disk, JournalNames names, ReadOptions options)
    {
        try
        {
            return JournalDirectory.TryReadManifest(disk, names, out var manifest, out var error)
                ? new JournalReader(disk, names, manifest, options).Read(new StructureCheck())
                : new() { Outcome = JournalOutcome.Refused, File = names.Manifest, Reason = error };
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return new() { Outcome = JournalOutcome.Refused, File = names.DirectoryName, Reason = error.Message };
        }
    }

    /// <summary>
    /// Copies what is good, up to the first damage, into a directory that must not exist yet. A server starts on the copy. The report says what
    /// was left out; when it refuses, there is no copy.
    /// </summary>
    public static JournalReport Repair(IDisk disk, JournalNames names, JournalNames target)
    {
        if (disk.DirectoryExists(target.Directory))
            return new() { Outcome = JournalOutcome.Refused, File = target.Directory, Reason = "the directory for the copy exists already" };
        var report = Verify(disk, names, new(LoadTruncated: true, AcceptDamage: true));
        if (report.Outcome is JournalOutcome.Refused or JournalOutcome.Absent) return report;
        try
        {
            Copy(disk, names, target, report);
            return report;
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return report with { Outcome = JournalOutcome.Refused, File = target.Directory, Reason = error.Message };
        }
    }

    private static void Copy(IDisk disk, JournalNames names, JournalNames target, JournalReport report)
    {
        disk.CreateDirectory(target.Directory);
        disk.FlushDirectory(target.Root);
        foreach (var file in report.Files) Copy(disk, names.PathOf(file.Name), target.PathOf(file.Name), file.Kept);
        _ = JournalDirectory.TryReadManifest(disk, names, out var manifest, out _);
        using var directory = JournalDirectory.TryOpen(disk, target, out var error) ?? throw new IOException(error);
        directory.Publish(manifest.WithoutHistory().WithoutIncrements(f => report.DroppedFiles.Contains(f.Name)));
    }

    private static void Copy(IDisk disk, string from, string to, long length)
    {
        using var source = disk.Open(from, DiskOpen.Read);
        using var copy = disk.Open(to, DiskOpen.New);
        var buffer = new byte[(int)Math.Clamp(length, 1, CopyBuffer)];
        for (long done = 0; done < length;)
        {
            var read = source.Read(done, buffer.AsSpan(0, (int)Math.Min(buffer.Length, length - done)));
            if (read == 0) throw new IOException($"{from} became shorter while it was copied");
            copy.Write(done, buffer.AsSpan(0, read));
            done += read;
        }
        copy.Flush();
    }
}
