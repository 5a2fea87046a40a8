using System.Collections;
using System.Globalization;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Reading;

namespace RedisClone.Server.Programs;

/// <summary>
/// Commands on a data directory that no server uses: <c>verify DIR [OPTIONS]</c> and <c>repair DIR [COPY] [OPTIONS]</c>. They do not
/// change the directory.
/// </summary>
internal sealed class OfflineCommands(IDisk disk, ServerConfig config, TextWriter output, ProgressDisplay progress)
{
    // Exit codes: a start would load all data; would leave data out; would refuse to run; or the files are unreadable.
    private const int Whole = 0, Incomplete = 1, Refused = 2, Failed = 3;

    public const string Usage =
        """
               RedisClone.Server verify DIR [OPTIONS] (report what a start would find in this data directory, or append-only directory, with
                   these options, such as --databases 32; takes as much memory as the data)
               RedisClone.Server repair DIR [COPY] [OPTIONS] (copy what is intact to COPY; without COPY, to DIR.repaired)

        Exit codes of verify: 0 intact, 1 a start would leave data out (an incomplete end, or newer increments that the manifest does
        not name), 2 damaged (a server would not start), 3 cannot read.
        Exit codes of repair: 0 the copy is complete, 1 the copy lacks data, 2 cannot make a copy, 3 cannot read.
        Both name the file and the offset of the first damage.

        """;

    private const string Help = "Usage:\n" + Usage;

    /// <summary>Runs the command in the arguments. Returns the exit code, or null for the arguments of a server.</summary>
    public static int? TryRun(IReadOnlyList<string> args, IDictionary environment, TextWriter output, TextWriter error)
    {
        if (args is not ["verify" or "repair", ..]) return null;
        int named = args[0] == "repair" && args.Count > 2 && !args[2].StartsWith('-') ? 3 : 2;
        string[] options = [.. args.Skip(named)];
        if (args is [_, "-h" or "--help"])
        {
            output.Write(ProgramName.In(Help));
            return Whole;
        }
        ConfigLoad load = ServerConfig.Load(options, environment);
        if (load.Config is not { } config)
        {
            output.Write(load.Error);
            return Failed;
        }
        using var progress = new ProgressDisplay(error);
        var commands = new OfflineCommands(RealDisk.Instance, config, output, progress);
        switch (args)
        {
            case ["verify", var directory, ..]:
                return commands.Verify(Path.GetFullPath(directory));
            case ["repair", var directory, var copy, ..] when named > 2:
                return commands.Repair(Path.GetFullPath(directory), Path.GetFullPath(copy));
            case ["repair", var directory, ..]:
                return commands.Repair(Path.GetFullPath(directory), Path.TrimEndingDirectorySeparator(Path.GetFullPath(directory)) + ".repaired");
            default:
                output.Write(ProgramName.In(Help));
                return Failed;
        }
    }

    private int Verify(string directory)
    {
        if (!TryFind(directory, out List<Found> journals, out List<string> snapshots)) return Failed;
        int worst = Whole;
        foreach (Found journal in journals) worst = Math.Max(worst, VerifyJournal(journal.Names, journal.IsOldStyle));
        foreach (string snapshot in snapshots) worst = Math.Max(worst, VerifySnapshot(snapshot));
        if (journals.Count > 0 && snapshots.Count > 0)
            output.WriteLine($"{directory}: a start loads one of these: with appendonly yes the journal {config.AppendDirname}/{config.AppendFilename}, " +
                $"otherwise the snapshot {config.DbFilename}.");
        return worst;
    }

    private int Repair(string directory, string copy)
    {
        if (!TryFind(directory, out List<Found> journals, out List<string> snapshots)) return Failed;
        try
        {
            if (disk.DirectoryExists(copy))
            {
                output.WriteLine($"{copy} exists already: give another place for the copy.");
                return Failed;
            }
            int worst = Whole;
            foreach ((JournalNames names, bool isOldStyle) in journals)
            {
                // The copy of an old-style file stands where a start would move it.
                JournalNames target = names with { Root = copy, DirectoryName = isOldStyle ? config.AppendDirname : names.DirectoryName };
                JournalReport report = JournalTools.Repair(disk, names, target, progress.Begin, isOldStyle);
                progress.End();
                Report(names.Directory, report);
                bool copied = report.Outcome is JournalOutcome.Clean or JournalOutcome.Cut;
                output.WriteLine(copied
                    ? $"{names.Directory}: what is good was copied to {target.Directory}"
                    : $"{names.Directory}: no copy was made.");
                // A journal with a correct structure may still contain data that a start refuses.
                if (!copied || VerifyJournal(target, isOldStyle: false) == Refused) worst = Refused;
                else if (!report.IsComplete) worst = Math.Max(worst, Incomplete);
            }
            foreach (string snapshot in snapshots)
            {
                // The part of an RDB file before its first damage is not copied, because it would pass for a complete snapshot.
                if (VerifySnapshot(snapshot) != Whole) worst = Refused;
                else
                {
                    disk.CreateDirectory(copy);
                    JournalTools.CopyFile(disk, snapshot, Path.Combine(copy, Path.GetFileName(snapshot)), progress.Begin);
                    progress.End();
                }
            }
            return worst;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            output.WriteLine(failure.Message);
            return Failed;
        }
    }

    /// <summary>
    /// Finds journals and snapshots. If the directory is an append-only directory, these are its journals; otherwise, they are
    /// the journals in its subdirectories and the snapshots in the directory.
    /// </summary>
    private bool TryFind(string directory, out List<Found> journals, out List<string> snapshots)
    {
        (journals, snapshots) = ([], []);
        try
        {
            if (!disk.DirectoryExists(directory))
            {
                output.WriteLine($"{directory} is not a directory.");
                return false;
            }
            AddJournals(directory, journals);
            if (journals.Count == 0)
            {
                // A start does not read backups. The command takes the directory of one, too.
                foreach (string child in Directory.GetDirectories(directory).Order(StringComparer.Ordinal))
                    if (Path.GetFileName(child) != config.BackupDirname) AddJournals(child, journals);
                AddOldStyle(directory, journals);
                foreach (string name in disk.List(directory))
                    if (name.EndsWith(".rdb", StringComparison.Ordinal) && !name.StartsWith("temp-", StringComparison.Ordinal))
                        snapshots.Add(Path.Combine(directory, name));
                // A directory with such a name makes a start fail, as a damaged file does.
                foreach (string child in Directory.GetDirectories(directory))
                    if (child.EndsWith(".rdb", StringComparison.Ordinal)) snapshots.Add(child);
            }
            if (journals.Count + snapshots.Count > 0) return true;
            output.WriteLine($"{directory}: there is neither a journal (manifest, base, increment, {config.AppendFilename}) nor a snapshot (*.rdb) in it.");
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            output.WriteLine(failure.Message);
        }
        return false;
    }

    private void AddJournals(string directory, List<Found> journals)
    {
        foreach (string fileName in JournalNames.FileNamesIn(disk.List(directory))) journals.Add(new(NamesIn(directory, fileName), IsOldStyle: false));
    }

    /// <summary>Adds the single file of Redis before 7.0. A start loads it unless there is a journal with the configured names.</summary>
    private void AddOldStyle(string directory, List<Found> journals)
    {
        if (!disk.Exists(Path.Combine(directory, config.AppendFilename))) return;
        if (journals.Exists(found => found.Names.DirectoryName == config.AppendDirname && found.Names.FileName == config.AppendFilename)) return;
        journals.Add(new(NamesIn(directory, config.AppendFilename), IsOldStyle: true));
    }

    private static JournalNames NamesIn(string directory, string fileName)
    {
        string trimmed = Path.TrimEndingDirectorySeparator(directory);
        return new(Path.GetDirectoryName(trimmed) ?? directory, Path.GetFileName(trimmed), fileName);
    }

    private int VerifyJournal(JournalNames names, bool isOldStyle)
    {
        JournalReport report = new TrialLoad(config, disk, progress.Begin).Journal(names, isOldStyle);
        progress.End();
        Report(names.Directory, report);
        return CodeOf(report);
    }

    private int VerifySnapshot(string path)
    {
        string? error = new TrialLoad(config, disk, progress.Begin).Snapshot(path, out long offset);
        progress.End();
        output.WriteLine(error is null
            ? string.Create(CultureInfo.InvariantCulture, $"{path}: whole, {offset} bytes.")
            : string.Create(CultureInfo.InvariantCulture, $"{path}: damaged at offset {offset} or shortly before: {error}"));
        return error is null ? Whole : Refused;
    }

    private void Report(string directory, JournalReport report)
    {
        foreach (string line in report.ToString().Split('\n')) output.WriteLine($"{directory}: {line}");
    }

    private static int CodeOf(JournalReport report) => report.Outcome switch
    {
        JournalOutcome.Clean or JournalOutcome.Cut => report.IsComplete ? Whole : Incomplete,
        _ => Refused,
    };

    /// <param name="Names">The directory and the names of its files.</param>
    /// <param name="IsOldStyle">Whether the journal is a single file without a manifest.</param>
    private sealed record Found(JournalNames Names, bool IsOldStyle);
}
