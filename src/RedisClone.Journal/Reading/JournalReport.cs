using System.Globalization;
using System.Text;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

public enum JournalOutcome
{
    /// <summary>There is no journal.</summary>
    Absent,

    /// <summary>Everything was read.</summary>
    Clean,

    /// <summary>A valid prefix was read. The remains of a power loss after it are cut.</summary>
    Cut,

    /// <summary>
    /// A file has damage that a power loss does not explain, or is not a valid journal file. The server must not start.
    /// </summary>
    Refused,
}

/// <summary>The result of reading one file.</summary>
/// <param name="Name">The file name.</param>
/// <param name="Kind">Base or increment.</param>
/// <param name="Length">The length of the file when it was read.</param>
/// <param name="Kept">The offset up to which the content is valid. Padding and cut bytes follow.</param>
/// <param name="Units">The number of units read.</param>
/// <param name="UnverifiedUnits">The number of those units that Redis wrote.</param>
public sealed record JournalFileReport(
    string Name, ManifestFileKind Kind, long Length, long Kept, long Units, long UnverifiedUnits)
{
    /// <summary>True if the file contributes nothing to the stream. The next start removes it.</summary>
    public bool HoldsNothing { get; init; }

    /// <summary>
    /// True for a file with groups of this server, possibly followed by commands of Redis. False for a file that Redis
    /// wrote.
    /// </summary>
    public bool IsOurs { get; init; }

    /// <summary>True if the last header states that the file is durable to its end.</summary>
    public bool IsSealed { get; init; }
}

/// <summary>
/// The result of reading a journal: the kept and the cut parts, and the location and the reason of a cut.
/// </summary>
public sealed record JournalReport
{
    public required JournalOutcome Outcome { get; init; }

    /// <summary>The reason for a cut or a refusal, for the log. Empty if the journal is clean.</summary>
    public string Reason { get; init; } = "";

    /// <summary>The file with the first damage. <see cref="Offset"/> is the position in that file.</summary>
    public string File { get; init; } = "";

    public long Offset { get; init; }

    /// <summary>
    /// The number of bytes that are (or would be) cut from this and later files, without zeros and padding.
    /// </summary>
    public long CutBytes { get; init; }

    public IReadOnlyList<JournalFileReport> Files { get; init; } = [];

    /// <summary>The files after the cut, which are ignored.</summary>
    public IReadOnlyList<string> DroppedFiles { get; init; } = [];

    /// <summary>
    /// Newer increments with commands that the manifest does not name. A start ignores them; the offline commands report them.
    /// </summary>
    public IReadOnlyList<string> Unnamed { get; init; } = [];

    /// <summary>True if the journal was read to its end and no file with data was ignored.</summary>
    public bool IsComplete =>
        Outcome is JournalOutcome.Absent or JournalOutcome.Clean or JournalOutcome.Cut && CutBytes == 0
        && DroppedFiles.Count == 0 && Unnamed.Count == 0;

    /// <summary>The stream position up to which units were read.</summary>
    public long Lsn { get; init; }

    /// <summary>True if the manifest was missing and was rebuilt in the copy.</summary>
    public bool MadeManifest { get; init; }

    public long Units => Files.Sum(f => f.Units);

    /// <summary>Returns a text with one fact per line, for the log and the offline commands.</summary>
    public override string ToString()
    {
        var text = new StringBuilder();
        foreach (JournalFileReport file in Files)
        {
            text.Append(
                CultureInfo.InvariantCulture, $"{file.Name}: kept {file.Kept} of {file.Length} bytes, {file.Units} units");
            if (file.UnverifiedUnits > 0)
                text.Append(CultureInfo.InvariantCulture, $" ({file.UnverifiedUnits} written by Redis, without checksums)");
            text.Append('\n');
        }
        if (MadeManifest) text.Append("The manifest was missing; the copy has one for the files above.\n");
        foreach (string file in Unnamed)
            text.Append(CultureInfo.InvariantCulture, $"{file}: has newer commands, is not named in the manifest, and is ignored\n");
        foreach (string file in DroppedFiles) text.Append(CultureInfo.InvariantCulture, $"{file}: nothing kept\n");
        text.Append(Outcome switch
        {
            JournalOutcome.Absent => "No journal.",
            JournalOutcome.Clean => string.Create(CultureInfo.InvariantCulture, $"Clean: {Units} units up to position {Lsn}."),
            JournalOutcome.Cut => string.Create(CultureInfo.InvariantCulture,
                $"Cut: {Units} units up to position {Lsn}; {File} cut at offset {Offset}, {CutBytes} bytes lost: {Reason}"),
            _ => string.Create(CultureInfo.InvariantCulture, $"Refused: {File} at offset {Offset}: {Reason}"),
        });
        return text.ToString();
    }
}
