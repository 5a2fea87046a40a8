using RedisClone.Journal.Format;

namespace RedisClone.Server.Durability;

/// <summary>
/// Journals by other names than the configured ones. A start finds none of them and begins empty, as Redis does; its log names
/// them, since a change of the names is more often meant to rename a journal than to leave it behind.
/// </summary>
internal static class OtherJournals
{
    private const int MostLookedAt = 1000;

    /// <summary>Where they are: in the append-only directory, and in the other directories beside it but one.</summary>
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
            // Whatever cannot be looked at is not what this server will load.
        }
        return found;
    }
}
