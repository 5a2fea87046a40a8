using System.Globalization;

namespace RedisClone.Journal.Format;

/// <summary>Where the journal lives, and how its files are called: Redis's own names.</summary>
/// <param name="Root">The server's working directory (<c>dir</c>).</param>
/// <param name="DirectoryName">The setting <c>appenddirname</c>.</param>
/// <param name="FileName">The setting <c>appendfilename</c>.</param>
public sealed record JournalNames(string Root, string DirectoryName = "appendonlydir", string FileName = "appendonly.aof")
{
    public string Directory => Path.Combine(Root, DirectoryName);

    public string Manifest => FileName + ".manifest";

    public string TemporaryManifest => "temp-" + Manifest;

    /// <summary>Where an increment grows that no manifest may name yet, since its base is not complete.</summary>
    public string TemporaryIncrement => "temp-" + FileName + ".incr";

    /// <summary>Where a base grows until it is complete.</summary>
    public string TemporaryBase => "temp-" + FileName + ".base";

    /// <summary>Held by the server that owns the directory. Redis knows no such file and leaves it alone.</summary>
    public string Lock => FileName + ".lock";

    /// <summary>The single file that Redis before 7.0 kept in its working directory.</summary>
    public string OldStyleFile => Path.Combine(Root, FileName);

    public string Base(long sequence, bool rdb) => Numbered(sequence, rdb ? ".base.rdb" : ".base.aof");

    public string Increment(long sequence) => Numbered(sequence, ".incr.aof");

    /// <summary>
    /// The settings <c>appendfilename</c> of the journals whose files have these names, with a manifest or without.
    /// </summary>
    public static IEnumerable<string> FileNamesIn(IEnumerable<string> names)
    {
        const string Suffix = ".manifest";
        return names.Where(name => !name.StartsWith("temp-", StringComparison.Ordinal))
            .Select(name => name.EndsWith(Suffix, StringComparison.Ordinal)
                ? name[..^Suffix.Length] : NumberedFile.Of(name)?.FileName)
            .OfType<string>().Distinct().Order(StringComparer.Ordinal);
    }

    public string PathOf(string file) => Path.Combine(Directory, file);

    private string Numbered(long sequence, string suffix) => FileName + "." + sequence.ToString(CultureInfo.InvariantCulture) + suffix;
}
