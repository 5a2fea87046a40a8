using System.Buffers.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Offline;

/// <summary>
/// A sink that loads nothing. It accepts every unit and checks only the structure and the checksum of an RDB.
/// </summary>
internal sealed class StructureCheck : IJournalSink, IRdbVisitor
{
    private long _lsn;
    private RdbReader? _reader;

    /// <summary>The offset that the reading of a base has reached; 0 while no base is read. Any thread may read it.</summary>
    public long SnapshotOffset => Volatile.Read(ref _reader)?.Offset ?? 0;

    public string? LoadSnapshot(IDiskFile file, string name, out long end, out long lsn)
    {
        _lsn = -1;
        var reader = new RdbReader(file);
        Volatile.Write(ref _reader, reader);
        string? error = RdbFileReader.Read(reader, this);
        Volatile.Write(ref _reader, null);
        end = reader.Offset;
        lsn = _lsn;
        return error;
    }

    public string? Apply(in JournalUnit unit) => null;

    public void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (!name.SequenceEqual(RdbAux.JournalPosition)) return;
        if (Utf8Parser.TryParse(value, out long lsn, out int used) && used == value.Length) _lsn = lsn;
    }

    public void Resize(int database, long keys, long expiring) { }

    public string? Function(ReadOnlySpan<byte> code) => null;

    public IRdbValueVisitor? Key(in RdbKey key) => null;

    public void SkippedEmpty() { }
}
