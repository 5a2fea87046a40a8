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

    /// <summary>A clean prefix was read; what a power loss had left behind it is cut.</summary>
    Cut,

    /// <summary>
    /// Damage that a power loss does not explain, or a file that is not what it should be: the server must not start.
    /// </summary>
    Refused,
}

/// <summary>What was read of one file.</summary>
/// <param name="Name">The file.</param>
/// <param name="Kind">Base or increment.</param>
/// <param name="Length">Its length when it was read.</param>
/// <param name="Kept">The offset up to which it counts; beyond are padding and what is cut.</param>
/// <param name="Units">The units read from it.</param>
/// <param name="UnverifiedUnits">Those of them that Redis wrote.</param>
public sealed record JournalFileReport(string Name, ManifestFileKind Kind, long Length, long Kept, long Units, long UnverifiedUnits)
{
    /// <summary>True for a file without which the stream is the same; the next start drops it.</summary>
    public bool HoldsNothing { get; init; }

    /// <summary>True for groups of ours, and perhaps what Redis appended; false for a file of Redis's.</summary>
    public bool IsOurs { get; init; }

    /// <summary>It says of itself that it is durable to its very end.</summary>
    public bool IsSealed { get; init; }
}

/// <summary>What reading a journal found: what was kept, what was cut, where and why.</summary>
public sealed record JournalReport
{
    public required JournalOutcome Outcome { get; init; }

    /// <summary>Why something was cut or refused, in words for the log; empty when clean.</summary>
    public string Reason { get; init; } = "";

    /// <summary>The file of the first damage, and its offset there.</summary>
    public string File { get; init; } = "";

    public long Offset { get; init; }

    /// <summary>How many bytes are cut (or would be), zeros and padding not counted, of this file and those after it.</summary>
    public long CutBytes { get; init; }

    public IReadOnlyList<JournalFileReport> Files { get; init; } = [];

    /// <summary>Files after the cut: nothing of them counts.</summary>
    public IReadOnlyList<string> DroppedFiles { get; init; } = [];

    /// <summary>The position in the global stream up to which units were read.</summary>
    public long Lsn { get; init; }

    /// <summary>The manifest was missing, and was made anew in the copy.</summary>
    public bool MadeManifest { get; init; }

    public long Units => Files.Sum(f => f.Units);

    /// <summary>One line a fact, for the log and for the offline commands.</summary>
    public override string ToString()
    {
        var text = new StringBuilder();
        foreach (JournalFileReport file in Files)
        {
            text.Append(CultureInfo.InvariantCulture, $"{file.Name}: kept {file.Kept} of {file.Length} bytes, {file.Units} units");
            if (file.UnverifiedUnits > 0)
                text.Append(CultureInfo.InvariantCulture, $" ({file.UnverifiedUnits} written by Redis, without checksums)");
            text.Append('\n');
        }
        if (MadeManifest) text.Append("The manifest was missing; the copy has one for the files above.\n");
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
