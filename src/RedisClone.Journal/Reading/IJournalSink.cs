using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>
/// One unit of the journal: a command, or MULTI to EXEC. A unit takes effect completely or not at all.
/// </summary>
public readonly ref struct JournalUnit
{
    /// <summary>The stream position directly after the unit.</summary>
    public required long Lsn { get; init; }

    /// <summary>The selected database at the start of the unit.</summary>
    public required int Database { get; init; }

    /// <summary>The commands as RESP arrays of bulk strings. Valid during the call only.</summary>
    public required ReadOnlySpan<byte> Bytes { get; init; }

    /// <summary>True for MULTI … EXEC.</summary>
    public required bool IsTransaction { get; init; }

    /// <summary>False for a unit that Redis wrote, because it has no checksum.</summary>
    public required bool IsVerified { get; init; }

    /// <summary>
    /// Whether a rewrite of this server wrote the unit. Each of its commands then states what the data was, and is no command of a client.
    /// </summary>
    public bool IsOfBase { get; init; }

    /// <summary>The number of commands in the unit, without MULTI, EXEC and SELECT.</summary>
    public int Count => Parts.Count;

    public JournalCommand this[int index] => Parts.Command(Bytes, index);

    internal UnitParts Parts { get; init; }
}

/// <summary>One command of a unit. Valid as long as the unit.</summary>
public readonly ref struct JournalCommand
{
    public required ReadOnlySpan<byte> Bytes { get; init; }

    public required ReadOnlySpan<JournalWord> Words { get; init; }

    /// <summary>
    /// The database of the command. Negative if a transaction selects a database that is not a number.
    /// </summary>
    public required int Database { get; init; }

    /// <summary>The offset of <see cref="Bytes"/> in the unit.</summary>
    public int Offset { get; init; }

    public ReadOnlySpan<byte> this[int word] => Bytes.Slice(Words[word].Offset, Words[word].Length);
}

/// <summary>
/// Receives the contents of a journal in order. Each method returns null, or the reason why the journal cannot be
/// loaded.
/// </summary>
public interface IJournalSink
{
    /// <summary>
    /// Loads the RDB at the start of <paramref name="file"/> and returns the offset of its end, where the commands of a
    /// Redis 6 append-only file follow. <paramref name="lsn"/> is the stream position that the snapshot states, or -1
    /// if it states none.
    /// </summary>
    string? LoadSnapshot(IDiskFile file, string name, out long end, out long lsn);

    string? Apply(in JournalUnit unit);

    /// <summary>
    /// Called after the last unit. A sink that applies units on other threads waits here until all are in effect.
    /// </summary>
    string? Complete() => null;
}
