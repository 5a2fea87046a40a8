using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>One unit of the journal: a command, or MULTI to EXEC. It takes effect as a whole or not at all.</summary>
public readonly ref struct JournalUnit
{
    /// <summary>The position in the global stream right after the unit.</summary>
    public required long Lsn { get; init; }

    /// <summary>The database that is selected where the unit begins.</summary>
    public required int Database { get; init; }

    /// <summary>The commands, as RESP arrays of bulk strings. Valid during the call only.</summary>
    public required ReadOnlySpan<byte> Bytes { get; init; }

    /// <summary>True for MULTI … EXEC.</summary>
    public required bool IsTransaction { get; init; }

    /// <summary>False for what Redis wrote: it carries no checksum.</summary>
    public required bool IsVerified { get; init; }

    /// <summary>The commands that it is made of; MULTI, EXEC and SELECT are none of them.</summary>
    public int Count => Parts.Count;

    public JournalCommand this[int index] => Parts.Command(Bytes, index);

    internal UnitParts Parts { get; init; }
}

/// <summary>One command of a unit, as valid as that.</summary>
public readonly ref struct JournalCommand
{
    public required ReadOnlySpan<byte> Bytes { get; init; }

    public required ReadOnlySpan<JournalWord> Words { get; init; }

    /// <summary>The database that it is for; negative where a transaction selects something that is no number.</summary>
    public required int Database { get; init; }

    public ReadOnlySpan<byte> this[int word] => Bytes.Slice(Words[word].Offset, Words[word].Length);
}

/// <summary>Receives what a journal holds, in order. What it returns is null, or why the journal cannot be loaded.</summary>
public interface IJournalSink
{
    /// <summary>
    /// Loads the RDB that <paramref name="file"/> begins with, and tells where it ends: an append-only file of Redis 6 goes
    /// on with commands there. <paramref name="lsn"/> is the position in the stream that the snapshot says it stands for, -1
    /// when it says none.
    /// </summary>
    string? LoadSnapshot(IDiskFile file, string name, out long end, out long lsn);

    string? Apply(in JournalUnit unit);

    /// <summary>After the last unit: waits until all of them are in effect, for a sink that applies them on other threads.</summary>
    string? Complete() => null;
}
