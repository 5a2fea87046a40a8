using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Finds data that a start does not load: journals with names other than the configured ones, a snapshot while the journal is on, and a
/// journal while it is off. The server starts without them, as Redis does. Its log names them, because such a change of the configuration
/// is usually a mistake.
/// </summary>
internal static class UnreadData
{
    private const int MostLookedAt = 1000;

    /// <summary>Names what a server does not load that begins an empty journal.</summary>
    public static void WarnBesideNewJournal(ServerCore server)
    {
        foreach (string other in Beside(JournalKeeper.NamesOf(server.Config), except: server.Config.BackupDirname))
            server.Log.LogWarning("There is no journal by the configured name, but {Other}: was appenddirname or appendfilename changed?", other);
        if (MayExist(server, server.Snapshots.Path))
            server.Log.LogWarning("{Snapshot} is not loaded, because appendonly is on and there is no journal yet: the server starts empty, and the next " +
                "snapshot replaces the file. To take its data over, start with appendonly off and use CONFIG SET appendonly yes", server.Snapshots.Path);
    }

    /// <summary>Names the journal that a server without appendonly does not load.</summary>
    public static void WarnOfJournal(ServerCore server)
    {
        JournalNames names = JournalKeeper.NamesOf(server.Config);
        if (MayExist(server, names.PathOf(names.Manifest)))
            server.Log.LogWarning("The journal in {Directory} is not loaded, because appendonly is off", names.Directory);
        if (MayExist(server, names.OldStyleFile))
            server.Log.LogWarning("The journal {File} is not loaded, because appendonly is off", names.OldStyleFile);
    }

    private static bool MayExist(ServerCore server, string path)
    {
        try
        {
            return server.Disk.Exists(path);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return true;
        }
    }

    /// <summary>
    /// The paths of the other journals, in the append-only directory and in the directories beside it, except
    /// <paramref name="except"/>.
    /// </summary>
    private static List<string> Beside(JournalNames names, string except)
    {
        var found = new List<string>();
        try
        {
            if (!Directory.Exists(names.Root)) return found;
            foreach (string directory in Directory.EnumerateDirectories(names.Root)
                .Take(MostLookedAt).Order(StringComparer.Ordinal))
            {
                if (Path.GetFileName(directory) == except) continue;
                foreach (string fileName in JournalNames.FileNamesIn(Directory.EnumerateFiles(directory).Take(MostLookedAt)
                    .Select(Path.GetFileName)!))
                {
                    if (directory == names.Directory && fileName == names.FileName) continue;
                    found.Add(Path.Combine(directory, fileName));
                }
            }
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            // This server cannot load a directory that it cannot read.
        }
        return found;
    }
}
