using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>What <see cref="UnitStream.Next"/> found.</summary>
public enum UnitKind
{
    /// <summary>The bytes are the beginning of a unit.</summary>
    Incomplete,

    /// <summary>The bytes cannot become a unit, whatever follows.</summary>
    Malformed,

    /// <summary>A SELECT between units.</summary>
    Select,

    Unit,
}

/// <summary>
/// Finds the units in a stream of commands that arrives in pieces: the stream that a server sends to its replicas.
/// </summary>
public sealed class UnitStream
{
    private readonly UnitScanner _scanner = new();

    /// <summary>The selected database.</summary>
    public int Database { get; set; }

    /// <summary>
    /// Finds the unit at the beginning of the bytes, and its length. If the unit is incomplete, <paramref name="needed"/> is a
    /// lower bound of its length.
    /// </summary>
    public UnitKind Next(ReadOnlySpan<byte> bytes, out JournalUnit unit, out int length, out long needed)
    {
        unit = default;
        // The scanner accepts the annotations of a file. A stream has none.
        bool isCommand = bytes.IsEmpty || bytes[0] == '*';
        UnitStep step = isCommand ? _scanner.Next(bytes, Database) : new UnitStep { Scan = Scan.Malformed };
        (length, needed) = (step.Length, step.Needed);
        if (step.Scan != Scan.Complete) return step.Scan == Scan.Incomplete ? UnitKind.Incomplete : UnitKind.Malformed;
        Database = step.DatabaseAfter;
        if (!step.IsUnit) return UnitKind.Select;
        unit = new JournalUnit
        {
            Lsn = 0,
            Database = step.DatabaseBefore,
            Bytes = bytes[..step.Length],
            IsTransaction = step.IsTransaction,
            IsVerified = false,
            Parts = _scanner.Parts,
        };
        return UnitKind.Unit;
    }
}
