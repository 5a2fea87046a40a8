using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Offline;

/// <summary>Receives the steps of an operation on files: the name of a step, and what returns its bytes in all and those that are done.</summary>
public delegate void JournalStep(string name, Func<long> total, Func<long> done);

/// <summary>Operations on a journal while no server uses it. They never change the journal itself.</summary>
public static class JournalTools
{
    /// <summary>
    /// Reads the whole journal into the sink and reports what a start would keep, cut or refuse. <paramref name="isOldStyle"/> means
    /// that the directory has no manifest, but the single file of Redis before 7.0.
    /// </summary>
    public static JournalReport Verify(
        IDisk disk, JournalNames names, ReadOptions options, IJournalSink sink, Action<JournalReader>? begun = null, bool isOldStyle = false)
    {
        try
        {
            Manifest manifest = Manifest.OfOldStyleFile(names.FileName);
            if (!isOldStyle && !JournalDirectory.TryReadManifest(disk, names, out manifest, out string error)) return Refused(names.Manifest, error);
            var reader = new JournalReader(disk, names, manifest, options);
            begun?.Invoke(reader);
            JournalReport report = reader.Read(sink);
            return report with { Unnamed = Unnamed(disk, names, manifest) };
        }
        catch (Exception error) when (DiskFailure.Is(error))
        {
            return new() { Outcome = JournalOutcome.Refused, File = names.DirectoryName, Reason = error.Message };
        }
    }

    /// <summary>
    /// Copies the journal up to the first damage into a directory that must not exist yet. A server can start from the
    /// copy. The report lists the omitted bytes and files. If the outcome is a refusal, no copy is made.
    /// </summary>
    public static JournalReport Repair(IDisk disk, JournalNames names, JournalNames target, JournalStep? step = null, bool isOldStyle = false)
    {
        if (disk.DirectoryExists(target.Directory))
            return Refused(target.Directory, "the directory for the copy exists already");
        try
        {
            Manifest manifest = Manifest.OfOldStyleFile(names.FileName);
            string error = "";
            bool isThere = isOldStyle || JournalDirectory.TryReadManifest(disk, names, out manifest, out error);
            if (!isThere && disk.Exists(names.PathOf(names.Manifest))) return Refused(names.Manifest, error);
            if (!isThere && JournalDirectory.RenamesLeft(disk, names).Count > 0)
                return Refused(
                    names.Manifest, "a crash prevented its final rename; a start of the server completes the journal");
            if (!isThere)
            {
                if (LostManifest.TryRebuild(disk, names, LostManifest.FilesOf(disk, names), out string problem)
                    is not { } rebuilt)
                    return Refused(names.Manifest, "it is missing and cannot be rebuilt: " + problem);
                manifest = rebuilt;
            }
            // An inferred manifest must match its files exactly, so damage is not accepted.
            var options = new ReadOptions(LoadTruncated: true, AcceptDamage: isThere);
            var check = new StructureCheck();
            var reader = new JournalReader(disk, names, manifest, options);
            step?.Invoke("Reading", () => reader.TotalBytes, () => reader.BytesRead + check.SnapshotOffset);
            JournalReport report = reader.Read(check);
            if (report.Outcome is JournalOutcome.Refused && !isThere)
                return Refused(
                    report.File, "the manifest is missing, and the one that the names suggest does not load: " + report.Reason);
            if (report.Outcome is JournalOutcome.Refused or JournalOutcome.Absent) return report;
            if (report.Outcome == JournalOutcome.Cut && report.Units == 0 && manifest.Base is null)
                return Refused(report.File, "there is no base, and nothing of the increments can be read: " + report.Reason);
            Copy(disk, names, target, manifest, report, step);
            return report with { MadeManifest = !isThere, Unnamed = isThere ? Unnamed(disk, names, manifest) : [] };
        }
        catch (Exception error) when (DiskFailure.Is(error))
        {
            return Refused(names.DirectoryName, error.Message);
        }
    }

    /// <summary>Copies a file and flushes the copy.</summary>
    public static void CopyFile(IDisk disk, string from, string to, JournalStep? step = null)
    {
        long length;
        using (IDiskFile file = disk.Open(from, DiskOpen.Read)) length = file.Length;
        FileCopy.Copy(disk, from, to, length, Copying(length, step));
    }

    /// <summary>Begins the step of copying. Returns what counts its bytes.</summary>
    private static Action<int>? Copying(long length, JournalStep? step)
    {
        if (step is null) return null;
        long done = 0;
        step("Copying", () => length, () => Volatile.Read(ref done));
        return bytes => Volatile.Write(ref done, done + bytes);
    }

    private static IReadOnlyList<string> Unnamed(IDisk disk, JournalNames names, Manifest manifest) =>
        disk.DirectoryExists(names.Directory) ? LostManifest.NewerThan(manifest, LostManifest.FilesOf(disk, names), disk, names) : [];

    private static JournalReport Refused(string file, string reason) =>
        new() { Outcome = JournalOutcome.Refused, File = file, Reason = reason };

    private static void Copy(IDisk disk, JournalNames names, JournalNames target, Manifest manifest, JournalReport report, JournalStep? step)
    {
        disk.CreateDirectory(target.Directory);
        disk.FlushDirectory(target.Root);
        // The directory is opened before the files are copied: opening refuses files without a manifest.
        using JournalDirectory directory = JournalDirectory.TryOpen(disk, target, out string? error)
            ?? throw new IOException(error);
        JournalFileReport[] kept = [.. report.Files.Where(file => !report.DroppedFiles.Contains(file.Name))];
        Action<int>? copied = Copying(kept.Sum(static file => file.Kept), step);
        foreach (JournalFileReport file in kept)
            FileCopy.Copy(disk, names.PathOf(file.Name), target.PathOf(file.Name), file.Kept, copied);
        directory.Publish(manifest.WithoutHistory().WithoutIncrements(f => report.DroppedFiles.Contains(f.Name)));
    }
}
