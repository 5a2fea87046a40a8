using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Offline;

/// <summary>
/// Handles bases and increments without the manifest that gives their order. A start that ignored them would begin
/// empty, and later rewrites would replace them. The start is therefore refused. If the names and positions of the
/// files allow only one order, the manifest can be rebuilt.
/// </summary>
public static class LostManifest
{
    private const int MostNamed = 8;

    /// <summary>
    /// Returns the files that belong in a manifest: bases first, each kind in the order of its sequence numbers.
    /// </summary>
    public static IReadOnlyList<ManifestFile> FilesOf(IDisk disk, JournalNames names) =>
    [
        .. disk.List(names.Directory).Select(NumberedFile.Of).OfType<NumberedFile>()
            .Where(file => file.FileName == names.FileName)
            .Select(file => file.Entry).OrderBy(file => file.Kind).ThenBy(file => file.Sequence),
    ];

    /// <summary>Returns the reason why a server does not start with these files.</summary>
    public static string Refusal(JournalNames names, IReadOnlyList<ManifestFile> files) =>
        $"{names.DirectoryName} has {Names(files)} and no {names.Manifest} that gives their order: a start would begin without " +
        "them, and a later rewrite would replace them. Restore the manifest, or use the repair command, which rebuilds it " +
        "in a copy of the directory; move the files away to begin empty";

    /// <summary>Returns the names of those files that are increments with commands and newer than all that a manifest names.</summary>
    internal static IReadOnlyList<string> NewerThan(
        Manifest manifest, IReadOnlyList<ManifestFile> files, IDisk disk, JournalNames names) =>
    [
        .. files.Where(file => file.Kind == ManifestFileKind.Increment
            && file.Sequence > manifest.LastIncrementSequence && HoldsCommands(disk, names, file)).Select(file => file.Name),
    ];

    private static bool HoldsCommands(IDisk disk, JournalNames names, ManifestFile file)
    {
        using IDiskFile opened = disk.Open(names.PathOf(file.Name), DiskOpen.Read);
        return IncrementReader.HoldsCommands(opened);
    }

    /// <summary>Returns the manifest that these files had, or null and the reason why it cannot be inferred.</summary>
    internal static Manifest? TryRebuild(IDisk disk, JournalNames names, IReadOnlyList<ManifestFile> files, out string problem)
    {
        ManifestFile[] bases = [.. files.Where(file => file.Kind == ManifestFileKind.Base)];
        ManifestFile[] increments = [.. files.Where(file => file.Kind == ManifestFileKind.Increment)];
        if ((FindTwins(bases) ?? FindTwins(increments)) is { } twins)
        {
            problem = $"{twins} have the same sequence number";
            return null;
        }
        if (files.FirstOrDefault(file => file.Sequence > Manifest.MaxSequence) is { } excessive)
        {
            problem = $"the sequence number of {excessive.Name} is out of range";
            return null;
        }
        ManifestFile? @base = bases.LastOrDefault();
        long start = @base is null ? 0 : StartOf(disk, names, @base);
        if (start < 0) return OfRedis(bases, increments, out problem);

        // A base and the increments after it exist before the manifest names them. The files that they replace still
        // exist after it does. Increments that begin before the newest base are therefore superseded.
        var kept = new List<ManifestFile>();
        foreach (ManifestFile increment in increments)
        {
            long begins = StartOf(disk, names, increment);
            if (begins < 0 && @base is not null && kept.Count == 0 && increments.Length > 1)
            {
                problem = $"redis-server wrote {increment.Name}, which does not state whether it is older than {@base.Name}";
                return null;
            }
            if (begins < 0 || begins >= start) kept.Add(increment with { HasHeader = begins >= 0 });
        }
        if (@base is null && (kept.Count == 0 || StartOf(disk, names, kept[0]) != 0))
        {
            problem = "there is no base for the increments";
            return null;
        }
        problem = "";
        return new(@base, [], kept);
    }

    /// <summary>
    /// Files of Redis do not state their positions. They are accepted only if there is exactly one base and no sequence
    /// number is missing.
    /// </summary>
    private static Manifest? OfRedis(ManifestFile[] bases, ManifestFile[] increments, out string problem)
    {
        problem = bases.Length > 1 ? $"{Names(bases)} are bases, and none states where its increments begin" : "";
        for (int i = 1; i < increments.Length && problem.Length == 0; i++)
        {
            if (increments[i].Sequence != increments[i - 1].Sequence + 1)
                problem = $"an increment is missing between {increments[i - 1].Name} and {increments[i].Name}";
        }
        return problem.Length > 0 ? null : new(bases[0], [], increments);
    }

    /// <summary>Returns the stream position at which a file begins, or -1 if Redis wrote the file.</summary>
    private static long StartOf(IDisk disk, JournalNames names, ManifestFile file)
    {
        using IDiskFile opened = disk.Open(names.PathOf(file.Name), DiskOpen.Read);
        if (file.Kind == ManifestFileKind.Increment) return IncrementReader.StartOf(opened);
        if (file.Name.EndsWith(".rdb", StringComparison.Ordinal))
            return new StructureCheck().LoadSnapshot(opened, file.Name, out _, out long lsn) is null
                ? lsn : throw new IOException($"{file.Name} is damaged");
        byte[] head = new byte[FileHeader.Length];
        int length = opened.Read(0, head);
        return BasePosition.Read(head.AsSpan(0, length));
    }

    private static string? FindTwins(ManifestFile[] files)
    {
        for (int i = 1; i < files.Length; i++)
            if (files[i].Sequence == files[i - 1].Sequence) return $"{files[i - 1].Name} and {files[i].Name}";
        return null;
    }

    private static string Names(IReadOnlyList<ManifestFile> files)
    {
        string names = string.Join(", ", files.Take(MostNamed).Select(file => file.Name));
        return files.Count > MostNamed ? $"{names} and {files.Count - MostNamed} more" : names;
    }
}
