using System.Globalization;
using System.Text;

namespace RedisClone.Journal.Format;

/// <summary>The role of a file in the append-only directory.</summary>
public enum ManifestFileKind
{
    Base = 'b',
    Increment = 'i',

    /// <summary>A superseded file that is to be deleted.</summary>
    History = 'h',
}

/// <summary>One line of the manifest.</summary>
/// <param name="Name">The file name.</param>
/// <param name="Sequence">The sequence number.</param>
/// <param name="Kind">The role of the file.</param>
/// <param name="HasHeader">
/// True for an increment whose header and first mark were durable before a manifest named the file so, and for a base of commands with a
/// position and a <see cref="BaseEnd"/>. A manifest of redis-server states this of no file. redis-server ignores the key.
/// </param>
public sealed record ManifestFile(string Name, long Sequence, ManifestFileKind Kind, bool HasHeader = false);

/// <summary>
/// The manifest of Redis: at most one base, then the history, then the increments in order. Immutable.
/// </summary>
public sealed class Manifest
{
    public const int MaxLine = 1024;

    /// <summary>The highest valid sequence number. A sum or an increment of valid numbers does not overflow.</summary>
    public const long MaxSequence = long.MaxValue / 2;

    private const string HeaderKey = "header";
    private const string HeaderValue = "RC1";

    internal const string SequenceOutOfRange = "A sequence number is out of range";

    public static Manifest Empty { get; } = new(null, [], []);

    /// <summary>The manifest of a journal that consists of the single file of Redis before 7.0.</summary>
    public static Manifest OfOldStyleFile(string name) => new(new(name, 1, ManifestFileKind.Base), [], []);

    public Manifest(ManifestFile? @base, IReadOnlyList<ManifestFile> history, IReadOnlyList<ManifestFile> increments)
    {
        Base = @base;
        History = history;
        Increments = increments;
    }

    public ManifestFile? Base { get; }

    public IReadOnlyList<ManifestFile> History { get; }

    public IReadOnlyList<ManifestFile> Increments { get; }

    /// <summary>The files to load, in order.</summary>
    public IEnumerable<ManifestFile> Files => Base is null ? Increments : Increments.Prepend(Base);

    public bool IsEmpty => Base is null && Increments.Count == 0;

    public long LastBaseSequence => Base?.Sequence ?? 0;

    public long LastIncrementSequence => Increments.Concat(History).Select(f => f.Sequence).DefaultIfEmpty(0).Max();

    /// <summary>Returns the manifest with the statement that this increment has a durable header.</summary>
    public Manifest WithHeader(string increment) =>
        new(Base, History, [.. Increments.Select(f => f.Name == increment ? f with { HasHeader = true } : f)]);

    public Manifest WithIncrement(ManifestFile file) => new(Base, History, [.. Increments, file]);

    public Manifest WithoutHistory() => new(Base, [], Increments);

    public Manifest WithoutHistory(IReadOnlyList<ManifestFile> gone) =>
        new(Base, [.. History.Where(f => !gone.Contains(f))], Increments);

    public Manifest WithoutIncrements(Func<ManifestFile, bool> dropped) =>
        new(Base, History, [.. Increments.Where(f => !dropped(f))]);

    /// <summary>
    /// Returns a manifest in which the new base supersedes the old base and every increment before
    /// <paramref name="first"/>.
    /// </summary>
    public Manifest WithBase(ManifestFile file, long first)
    {
        var history = History.ToList();
        if (Base is not null) history.Add(Base with { Kind = ManifestFileKind.History });
        foreach (ManifestFile increment in Increments)
            if (increment.Sequence < first) history.Add(increment with { Kind = ManifestFileKind.History });
        return new(file, history, [.. Increments.Where(f => f.Sequence >= first)]);
    }

    public byte[] ToBytes()
    {
        var text = new StringBuilder();
        if (Base is not null) AppendLine(text, Base);
        foreach (ManifestFile file in History) AppendLine(text, file);
        foreach (ManifestFile file in Increments) AppendLine(text, file);
        return Encoding.ASCII.GetBytes(text.ToString());
    }

    /// <summary>
    /// Parses a manifest by the rules of Redis. The error texts are those of Redis. Unlike Redis, no file may be named twice, and no key
    /// may come twice in a line.
    /// </summary>
    public static bool TryParse(ReadOnlySpan<byte> bytes, out Manifest manifest, out string error)
    {
        manifest = Empty;
        error = "";
        if (bytes.IsEmpty) return Fail("Found an empty AOF manifest", 0, out error);
        ManifestFile? @base = null;
        List<ManifestFile> history = [], increments = [];
        var names = new HashSet<string>();
        int number = 0;
        while (!bytes.IsEmpty)
        {
            number++;
            int end = bytes.IndexOf((byte)'\n');
            ReadOnlySpan<byte> line = end < 0 ? bytes : bytes[..end];
            bytes = end < 0 ? default : bytes[(end + 1)..];
            if (line is [(byte)'#', ..]) continue;
            if (end < 0 || line.Length >= MaxLine) return Fail("The AOF manifest file contains too long line", number, out error);
            string? problem = ParseLine(Encoding.Latin1.GetString(line).Trim(' ', '\t', '\r'), out ManifestFile file);
            problem ??= file.Kind switch
            {
                ManifestFileKind.Base when @base is not null => "Found duplicate base file information",
                ManifestFileKind.Increment when increments.Count > 0 && file.Sequence <= increments[^1].Sequence =>
                    "Found a non-monotonic sequence number",
                // Recovery cuts and deletes files by name, so it would lose the data of a file that is named twice.
                _ when !names.Add(file.Name) => "Found a file name twice",
                _ => null,
            };
            if (problem is not null) return Fail(problem, number, out error);
            if (file.Kind == ManifestFileKind.Base) @base = file;
            else (file.Kind == ManifestFileKind.History ? history : increments).Add(file);
        }
        // A rewrite supersedes increments in order, so this line has a wrong type: its commands would be lost, and its file deleted. Without
        // any increment to load, the journal ended with a rewrite, which superseded the base too.
        bool endedWithRewrite = increments.Count == 0 && history.Exists(static file => FirstKindOf(file) == ManifestFileKind.Base);
        long first = increments.Count > 0 ? increments[0].Sequence : endedWithRewrite ? long.MaxValue : 0;
        if (history.Find(file => FirstKindOf(file) == ManifestFileKind.Increment && file.Sequence > first) is { } newer)
            return Fail($"{newer.Name} is marked as superseded, but it is newer than what would be loaded", 0, out error);
        manifest = new(@base, history, increments);
        return true;
    }

    /// <summary>The kind that a file had before it was superseded, by its name.</summary>
    private static ManifestFileKind? FirstKindOf(ManifestFile file) => NumberedFile.Of(file.Name)?.Entry.Kind;

    private static string? ParseLine(string line, out ManifestFile file)
    {
        const string Invalid = "Invalid AOF manifest file format";
        file = new("", 0, default);
        if (line.Length == 0) return Invalid;

        // Later versions of Redis add key-value pairs to the three that are required.
        if (QuotedWords.Split(line) is not { Count: >= 6 } words || words.Count % 2 != 0) return Invalid;
        // Two lines without the line feed between them name two files, and Redis takes only the last one.
        IEnumerable<string> keys = words.Where(static (_, i) => i % 2 == 0);
        if (keys.Distinct(StringComparer.OrdinalIgnoreCase).Count() < words.Count / 2) return "Found a key twice";
        string name = "", kind = "";
        long sequence = 0;
        bool hasHeader = false;
        for (int i = 0; i < words.Count; i += 2)
        {
            if (words[i].Equals("file", StringComparison.OrdinalIgnoreCase)) name = words[i + 1];
            else if (words[i].Equals("seq", StringComparison.OrdinalIgnoreCase))
                _ = long.TryParse(words[i + 1], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out sequence);
            else if (words[i].Equals("type", StringComparison.OrdinalIgnoreCase)) kind = words[i + 1];
            else if (words[i] == HeaderKey) hasHeader = words[i + 1] == HeaderValue;
        }
        if (name.AsSpan().ContainsAny('/', '\\')) return "File can't be a path, just a filename";
        if (name.Length == 0 || name.Contains('\0') || sequence == 0 || kind.Length == 0) return Invalid;
        if (sequence is < 0 or > MaxSequence) return SequenceOutOfRange;
        if (kind[0] is not ('b' or 'h' or 'i')) return "Unknown AOF file type";
        file = new(Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(name)), sequence, (ManifestFileKind)kind[0], hasHeader);
        return null;
    }

    private static string BytesAsText(string name) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(name));

    private static bool Fail(string what, int line, out string error)
    {
        error = line == 0 ? what : $"{what} (line {line} of the manifest)";
        return false;
    }

    private static void AppendLine(StringBuilder text, ManifestFile file)
    {
        text.Append(CultureInfo.InvariantCulture, $"file {QuotedWords.QuoteIfNeeded(BytesAsText(file.Name))} seq {file.Sequence} type {(char)file.Kind}");
        if (file.HasHeader) text.Append(CultureInfo.InvariantCulture, $" {HeaderKey} {HeaderValue}");
        text.Append('\n');
    }
}
