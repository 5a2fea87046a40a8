using System.Globalization;

namespace RedisClone.Journal.Format;

/// <summary>The location of the journal and the names of its files. The names are those of Redis.</summary>
/// <param name="Root">The server's working directory (<c>dir</c>).</param>
/// <param name="DirectoryName">The setting <c>appenddirname</c>.</param>
/// <param name="FileName">The setting <c>appendfilename</c>.</param>
public sealed record JournalNames(string Root, string DirectoryName = "appendonlydir", string FileName = "appendonly.aof")
{
    public string Directory => Path.Combine(Root, DirectoryName);

    public string Manifest => FileName + ".manifest";

    public string TemporaryManifest => "temp-" + Manifest;

    /// <summary>The increment that is written while its base is not complete. No manifest may name it yet.</summary>
    public string TemporaryIncrement => "temp-" + FileName + ".incr";

    /// <summary>The name of a base while it is being written.</summary>
    public string TemporaryBase => "temp-" + FileName + ".base";

    /// <summary>The lock file of the server that owns the directory. Redis ignores this file.</summary>
    public string Lock => FileName + ".lock";

    /// <summary>The single file that Redis versions before 7.0 keep in the working directory.</summary>
    public string OldStyleFile => Path.Combine(Root, FileName);

    public string Base(long sequence, bool rdb) => Numbered(sequence, rdb ? ".base.rdb" : ".base.aof");

    public string Increment(long sequence) => Numbered(sequence, ".incr.aof");

    /// <summary>
    /// Returns the values of <c>appendfilename</c> that explain the given file names, with or without a manifest among
    /// them.
    /// </summary>
    public static IEnumerable<string> FileNamesIn(IEnumerable<string> names)
    {
        const string Suffix = ".manifest";
        return names.Where(name => !name.StartsWith("temp-", StringComparison.Ordinal))
            .Select(name => name.EndsWith(Suffix, StringComparison.Ordinal)
                ? name[..^Suffix.Length] : NumberedFile.Of(name)?.FileName)
            .OfType<string>().Distinct().Order(StringComparer.Ordinal);
    }

    /// <summary>Whether a file of the directory has a name that these names make.</summary>
    public bool Has(string file) => file.StartsWith(FileName + ".", StringComparison.Ordinal) || file.StartsWith($"temp-{FileName}.", StringComparison.Ordinal);

    public string PathOf(string file) => Path.Combine(Directory, file);

    private string Numbered(long sequence, string suffix) =>
        FileName + "." + sequence.ToString(CultureInfo.InvariantCulture) + suffix;
}
