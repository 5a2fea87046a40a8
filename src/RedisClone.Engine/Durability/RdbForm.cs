using RedisClone.Journal.Rdb;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Writes keys in the RDB format. A large value is written element by element in a plain encoding. Expired fields are
/// included, because the number of fields is written first.
/// </summary>
internal sealed class RdbForm : IKeyForm, IRdbTarget
{
    /// <summary>The approximate size of one part of a large value.</summary>
    public const int PartBytes = 64 * 1024;

    private readonly RdbWriter _writer;
    private readonly ValueWriter _values;
    private readonly StreamValueWriter _streams;
    private IRdbTarget _target = null!;
    private long _written;

    public RdbForm(bool compress)
    {
        _writer = new RdbWriter(this, compress, bufferSize: 4096, checksum: false);
        _values = new ValueWriter(_writer, withExpired: true);
        _streams = new StreamValueWriter(_writer);
    }

    public void Begin(IRdbTarget target) => (_target, _written) = (target, 0);

    public void Select(int database) => _writer.SelectDatabase(database);

    public void Key(in Entry entry) => _values.TryWriteKey(entry);

    public void End() => _writer.Flush();

    void IRdbTarget.Write(ReadOnlySpan<byte> bytes)
    {
        _written += bytes.Length;
        _target.Write(bytes);
    }

    public bool Part(in Entry entry, ref CapturePlace place)
    {
        if (!place.Begun) Head(entry);
        switch (entry.Type)
        {
            case ValueType.String:
                ReadOnlySpan<byte> rest = entry.Value[(int)place.Cursor..];
                ReadOnlySpan<byte> part = rest[..Math.Min(rest.Length, PartBytes)];
                _writer.Raw(part);
                place.Cursor += (ulong)part.Length;
                return part.Length == rest.Length;
            case ValueType.List:
                foreach (Element element in ListValue.Elements(entry, (long)place.Cursor))
                {
                    if (_written >= PartBytes) return false;
                    Text(element);
                    place.Cursor++;
                }
                return true;
            case ValueType.Stream:
                return _streams.Part(entry, PartBytes, ref place);
            case ValueType.Set:
                return Members(entry, ref place);
            case ValueType.SortedSet:
                return ScoredMembers(entry, ref place);
            default:
                return Fields(entry, ref place);
        }
    }

    /// <summary>Writes what precedes the elements: expiry, type, key and the number of elements.</summary>
    private void Head(in Entry entry)
    {
        (RdbType type, long count) = entry.Type switch
        {
            ValueType.String => (RdbType.String, (long)entry.Value.Length),
            ValueType.List => (RdbType.List, ListValue.Count(entry)),
            ValueType.Set => (RdbType.Set, SetValue.Count(entry)),
            ValueType.SortedSet => (RdbType.SortedSet, SortedSetValue.Count(entry)),
            ValueType.Hash => (HashValue.NextExpiry(entry) == 0 ? RdbType.Hash : RdbType.HashMetadata, HashValue.Count(entry)),
            ValueType.Stream => (StreamValueWriter.TypeOf(entry), 0L),
            _ => throw new System.Diagnostics.UnreachableException($"a {entry.Type} is not written in parts"),
        };
        _writer.KeyAttributes(entry.Expiry == 0 ? -1 : Math.Max(entry.Expiry, 0));
        _writer.Type(type);
        _writer.String(entry.Key);
        if (type == RdbType.HashMetadata) _writer.Milliseconds(HashValue.NextExpiry(entry));
        if (entry.Type == ValueType.Stream) _streams.Begin(entry);
        else _writer.Length((ulong)count);
    }

    private bool Members(in Entry entry, ref CapturePlace place)
    {
        do
        {
            ulong next = place.Cursor;
            int at = 0;
            foreach (Element member in SetValue.Scan(entry, ref next))
            {
                if (at++ < place.Taken) continue;
                if (_written >= PartBytes) return false;
                Text(member);
                place.Taken = at;
            }
            place.MoveTo(next);
        }
        while (place.Cursor != 0);
        return true;
    }

    private bool ScoredMembers(in Entry entry, ref CapturePlace place)
    {
        do
        {
            ulong next = place.Cursor;
            int at = 0;
            foreach (ScoredMember member in SortedSetValue.Scan(entry, ref next))
            {
                if (at++ < place.Taken) continue;
                if (_written >= PartBytes) return false;
                Text(member.Member);
                _writer.Double(member.Score);
                place.Taken = at;
            }
            place.MoveTo(next);
        }
        while (place.Cursor != 0);
        return true;
    }

    private bool Fields(in Entry entry, ref CapturePlace place)
    {
        long first = HashValue.NextExpiry(entry);
        do
        {
            ulong next = place.Cursor;
            int at = 0;
            foreach (HashField field in HashValue.ScanAll(entry, ref next))
            {
                if (at++ < place.Taken) continue;
                if (_written >= PartBytes) return false;
                // The expiry is relative to the earliest one, plus one, because zero means none.
                if (first != 0) _writer.Length(field.Expiry == 0 ? 0 : (ulong)(field.Expiry - first + 1));
                Text(field.Name);
                Text(field.Value);
                place.Taken = at;
            }
            place.MoveTo(next);
        }
        while (place.Cursor != 0);
        return true;
    }

    private void Text(Element element)
    {
        if (element.IsInteger) _writer.StringOf(element.Integer);
        else _writer.String(element.Bytes);
    }
}
