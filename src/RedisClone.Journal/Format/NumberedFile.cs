using System.Globalization;

namespace RedisClone.Journal.Format;

/// <summary>
/// The parts of a file name in the append-only directory: FILENAME.SEQUENCE.base.rdb, .base.aof or .incr.aof.
/// </summary>
/// <param name="FileName">The setting <c>appendfilename</c> of the server that wrote the file.</param>
/// <param name="Entry">The line of the manifest that describes the file.</param>
public sealed record NumberedFile(string FileName, ManifestFile Entry)
{
    private static readonly (string Suffix, ManifestFileKind Kind)[] s_suffixes =
        [(".base.rdb", ManifestFileKind.Base), (".base.aof", ManifestFileKind.Base), (".incr.aof", ManifestFileKind.Increment)];

    /// <summary>Parses a name. Returns null if the name has another form or is the name of a temporary file.</summary>
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
