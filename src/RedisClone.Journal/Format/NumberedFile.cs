using System.Globalization;

namespace RedisClone.Journal.Format;

/// <summary>
/// What the name of a file of the append-only directory tells: FILENAME.SEQUENCE.base.rdb, .base.aof or .incr.aof.
/// </summary>
/// <param name="FileName">The setting <c>appendfilename</c> of the server that wrote it.</param>
/// <param name="Entry">The line that a manifest has for it.</param>
public sealed record NumberedFile(string FileName, ManifestFile Entry)
{
    private static readonly (string Suffix, ManifestFileKind Kind)[] s_suffixes =
        [(".base.rdb", ManifestFileKind.Base), (".base.aof", ManifestFileKind.Base), (".incr.aof", ManifestFileKind.Increment)];

    /// <summary>Null where the name is not of that form, or is that of a file that is not complete.</summary>
    public static NumberedFile? Of(string name)
    {
        if (name.StartsWith("temp-", StringComparison.Ordinal)) return null;
        foreach ((string suffix, ManifestFileKind kind) in s_suffixes)
        {
            if (!name.EndsWith(suffix, StringComparison.Ordinal)) continue;
            string numbered = name[..^suffix.Length];
            int dot = numbered.LastIndexOf('.');
            if (dot <= 0 || !long.TryParse(numbered.AsSpan(dot + 1), NumberStyles.None, CultureInfo.InvariantCulture,
                out long sequence)) return null;
            return sequence == 0 ? null : new(numbered[..dot], new(name, sequence, kind));
        }
        return null;
    }
}
