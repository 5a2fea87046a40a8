using RedisClone.Journal.Format;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Finds journals with names other than the configured ones. A server does not load them and starts empty, as Redis does. Its
/// log names them, because a change of the configured names usually means to rename a journal, not to abandon it.
/// </summary>
internal static class OtherJournals
{
    private const int MostLookedAt = 1000;

    /// <summary>
    /// The paths of the other journals, in the append-only directory and in the directories beside it, except
    /// <paramref name="except"/>.
    /// </summary>
    public static IReadOnlyList<string> Beside(JournalNames names, string except)
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
