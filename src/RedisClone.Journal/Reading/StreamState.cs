namespace RedisClone.Journal.Reading;

/// <summary>The position of the reader in the global stream, across files.</summary>
internal sealed class StreamState
{
    /// <summary>The highest position at which a file may begin. The units after it do not overflow a position.</summary>
    public const long MaxLsn = long.MaxValue / 2;

    public long Lsn { get; set; }

    /// <summary>
    /// False after a base of Redis, which does not state its stream position, until the first group of this server
    /// states one. Without a base the stream begins at 0, and commands of Redis advance it by their length.
    /// </summary>
    public bool IsLsnKnown { get; set; } = true;

    /// <summary>The highest "durable" value in the headers of the current file.</summary>
    public long Durable { get; set; }

    /// <summary>The selected database. Each file begins with database 0.</summary>
    public int Database { get; set; }

    /// <summary>Whether a base of commands is being read that a rewrite of this server wrote.</summary>
    public bool IsInOwnBase { get; set; }

    public long Units { get; set; }

    public long UnverifiedUnits { get; set; }

    public UnitScanner Scanner { get; } = new();

    /// <summary>Returns the refusal of a position that a file states and that is out of range.</summary>
    public static FileResult OutOfRange(long lsn, long offset) =>
        new(FileEnd.Refused, offset, $"the position {lsn} is out of range");

    /// <summary>
    /// Advances past the step that the scanner has returned. A unit is passed to the sink. Returns null, or the sink's
    /// reason for a rejection.
    /// </summary>
    public string? Take(in UnitStep step, ReadOnlySpan<byte> bytes, bool isVerified, IJournalSink sink)
    {
        if (step.IsUnit)
        {
            string? error = sink.Apply(new JournalUnit
            {
                Lsn = Lsn + step.Length,
                Database = step.DatabaseBefore,
                Bytes = bytes,
                IsTransaction = step.IsTransaction,
                IsVerified = isVerified,
                IsOfBase = IsInOwnBase,
                Parts = Scanner.Parts,
            });
            if (error is not null) return error;
            Units++;
            if (!isVerified) UnverifiedUnits++;
        }
        Database = step.DatabaseAfter;
        Lsn += step.Length;
        return null;
    }
}

/// <summary>The way in which the reading of a file ended.</summary>
internal enum FileEnd
{
    /// <summary>At the end of the file.</summary>
    Whole,

    /// <summary>At bytes that do not verify. Later marks decide whether a power loss explains it.</summary>
    Damaged,

    /// <summary>Inside a command that Redis wrote: a short read in the terms of Redis.</summary>
    ShortRead,

    /// <summary>At bytes that no crash can explain.</summary>
    Refused,
}

/// <param name="End">The kind of end.</param>
/// <param name="Kept">The offset up to which the content is valid.</param>
/// <param name="Reason">The problem at that offset.</param>
internal readonly record struct FileResult(FileEnd End, long Kept, string Reason = "");
