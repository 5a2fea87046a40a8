namespace RedisClone.Journal.Reading;

/// <summary>Where in the global stream the reading is, across files.</summary>
internal sealed class StreamState
{
    public long Lsn { get; set; }

    /// <summary>
    /// False behind a base that does not say where in the stream it stands, since Redis wrote it, until a group of ours
    /// does. Without a base the stream begins at 0, and what Redis wrote counts by its bytes.
    /// </summary>
    public bool IsLsnKnown { get; set; } = true;

    /// <summary>The highest "durable" that a header of the file being read states.</summary>
    public long Durable { get; set; }

    /// <summary>The database that is selected; each file begins with 0.</summary>
    public int Database { get; set; }

    public long Units { get; set; }

    public long UnverifiedUnits { get; set; }

    public UnitScanner Scanner { get; } = new();

    /// <summary>Goes past what the scanner has just stepped over, and hands it to the sink if it is a unit; null, or why that cannot take it.</summary>
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

/// <summary>How the reading of a file ended.</summary>
internal enum FileEnd
{
    /// <summary>At its end.</summary>
    Whole,

    /// <summary>At something that does not verify. The marks after it decide whether a power loss explains it.</summary>
    Damaged,

    /// <summary>In the middle of a command that Redis wrote: a short read in Redis's terms.</summary>
    ShortRead,

    /// <summary>At something for which there is no excuse.</summary>
    Refused,
}

/// <param name="End">How it ended.</param>
/// <param name="Kept">The offset up to which everything is good.</param>
/// <param name="Reason">What is wrong there.</param>
internal readonly record struct FileResult(FileEnd End, long Kept, string Reason = "");
