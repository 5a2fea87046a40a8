using RedisClone.Journal.Rdb;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Writes keys and values in RDB encodings that redis-server 7.0 loads. Only hashes with expiring fields use the encoding of
/// 7.4. Expired fields are omitted unless <paramref name="withExpired"/> is set.
/// </summary>
internal sealed class ValueWriter(RdbWriter writer, bool withExpired = false)
{
    /// <summary>The size of a list node in bytes that Redis's default for list-max-listpack-size gives.</summary>
    private const int NodeBytes = 8192;

    /// <summary>An element of this size or more becomes a plain node of its own, without a listpack.</summary>
    private const int PlainFrom = 1 << 20;

    /// <summary>An upper bound for an element's encoding and the length that follows it.</summary>
    private const int EntryOverhead = 10;

    private readonly ListpackWriter _pack = new();
    private readonly StreamValueWriter _streams = new(writer);

    /// <summary>The RDB version that a value needs.</summary>
    public static int VersionFor(bool fieldsExpire) => fieldsExpire ? RdbVersion.Redis74 : RdbVersion.Redis70;

    /// <summary>
    /// Writes type and value as in DUMP. Returns false and writes nothing if all fields of a hash have expired.
    /// </summary>
    public bool TryWrite(in Entry entry)
    {
        Shape shape = ShapeOf(entry);
        if (shape.Count == 0) return false;
        writer.Type(shape.Type);
        Value(entry, shape);
        return true;
    }

    /// <summary>
    /// Writes a key with its expiry and value as in an RDB file. Returns false as <see cref="TryWrite"/> does.
    /// </summary>
    public bool TryWriteKey(in Entry entry)
    {
        Shape shape = ShapeOf(entry);
        if (shape.Count == 0) return false;
        writer.KeyAttributes(entry.Expiry == 0 ? -1 : Math.Max(entry.Expiry, 0));
        writer.Type(shape.Type);
        writer.String(entry.Key);
        Value(entry, shape);
        return true;
    }

    /// <summary>
    /// Determines what precedes the elements: the encoding, the number of elements and the earliest expiry of a field.
    /// </summary>
    private Shape ShapeOf(in Entry entry)
    {
        bool isPacked = entry.Encoding is ValueEncoding.Packed or ValueEncoding.Shaped;
        switch (entry.Type)
        {
            case ValueType.Stream:
                // A stream exists even without entries, so its count must not be 0.
                return new Shape(StreamValueWriter.TypeOf(entry), 1);
            case ValueType.String:
                return new Shape(RdbType.String, 1);
            case ValueType.List:
                return new Shape(RdbType.ListQuicklist, ListNodes(entry));
            case ValueType.Set:
                return new Shape(entry.Encoding == ValueEncoding.Integers ? RdbType.SetIntset : RdbType.Set, SetValue.Count(entry));
            case ValueType.SortedSet:
                return new Shape(isPacked ? RdbType.SortedSetListpack : RdbType.SortedSet, SortedSetValue.Count(entry));
            case ValueType.Hash:
                return isPacked ? new Shape(RdbType.HashListpack, HashValue.Count(entry)) : HashShape(entry);
            default:
                throw new System.Diagnostics.UnreachableException($"a {entry.Type} has no form in an RDB");
        }
    }

    private Shape HashShape(in Entry entry)
    {
        if (HashValue.NextExpiry(entry) == 0) return new Shape(RdbType.Hash, HashValue.Count(entry));
        long count = 0, first = long.MaxValue;
        foreach (HashField field in Fields(entry))
        {
            count++;
            if (field.Expiry != 0) first = Math.Min(first, field.Expiry);
        }
        return first == long.MaxValue ? new Shape(RdbType.Hash, count) : new Shape(RdbType.HashMetadata, count, first);
    }

    private void Value(in Entry entry, Shape shape)
    {
        switch (shape.Type)
        {
            case RdbType.String:
                if (entry.Encoding == ValueEncoding.Integer) writer.StringOf(StringValue.Integer(entry));
                else writer.String(entry.Value);
                break;
            case RdbType.ListQuicklist:
                List(entry, shape.Count);
                break;
            case RdbType.SetIntset:
                long[] numbers = new long[shape.Count];
                int at = 0;
                foreach (Element member in SetValue.Members(entry)) numbers[at++] = member.Integer;
                writer.String(IntsetWriter.Write(numbers));
                break;
            case RdbType.Set:
                writer.Length((ulong)shape.Count);
                foreach (Element member in SetValue.Members(entry)) Text(member);
                break;
            case RdbType.SortedSetListpack:
                PackedSortedSet(entry);
                break;
            case RdbType.SortedSet:
                writer.Length((ulong)shape.Count);
                foreach (ScoredMember member in SortedSetValue.Members(entry))
                {
                    Text(member.Member);
                    writer.Double(member.Score);
                }
                break;
            case RdbType.HashListpack:
                _pack.Clear();
                foreach (HashField field in Fields(entry))
                {
                    Pack(field.Name);
                    Pack(field.Value);
                }
                writer.String(_pack.Finish());
                break;
            case RdbType.Hash or RdbType.HashMetadata:
                Hash(entry, shape);
                break;
            default:
                _streams.Write(entry, shape.Type);
                break;
        }
    }

    private HashFields Fields(in Entry entry) => HashValue.Fields(entry, withExpired);

    private void Hash(in Entry entry, Shape shape)
    {
        bool expires = shape.Type == RdbType.HashMetadata;
        if (expires) writer.Milliseconds(shape.FirstExpiry);
        writer.Length((ulong)shape.Count);
        foreach (HashField field in Fields(entry))
        {
            // The expiry is relative to the earliest one, plus one, because zero means none.
            if (expires) writer.Length(field.Expiry == 0 ? 0 : (ulong)(field.Expiry - shape.FirstExpiry + 1));
            Text(field.Name);
            Text(field.Value);
        }
    }

    private void PackedSortedSet(in Entry entry)
    {
        Span<byte> text = stackalloc byte[64];
        _pack.Clear();
        foreach (ScoredMember member in SortedSetValue.Members(entry))
        {
            Pack(member.Member);
            _pack.Append(text[..RedisNumber.FormatDouble(member.Score, text)]);
        }
        writer.String(_pack.Finish());
    }

    private static long ListNodes(in Entry entry)
    {
        long nodes = 0;
        var cutter = new NodeCutter();
        foreach (Element element in ListValue.Elements(entry))
            if (cutter.BeginsNode(element.Length)) nodes++;
        return nodes;
    }

    private void List(in Entry entry, long nodes)
    {
        writer.Length((ulong)nodes);
        var cutter = new NodeCutter();
        _pack.Clear();
        foreach (Element element in ListValue.Elements(entry))
        {
            if (cutter.BeginsNode(element.Length)) FinishNode();
            if (element.Length < PlainFrom)
            {
                Pack(element);
                continue;
            }
            writer.Length(1);
            writer.String(element.Bytes);
        }
        FinishNode();
    }

    private void FinishNode()
    {
        if (_pack.Count == 0) return;
        writer.Length(2);
        writer.String(_pack.Finish());
        _pack.Clear();
    }

    private void Text(Element element)
    {
        if (element.IsInteger) writer.StringOf(element.Integer);
        else writer.String(element.Bytes);
    }

    private void Pack(Element element)
    {
        if (element.IsInteger) _pack.Append(element.Integer);
        else _pack.Append(element.Bytes);
    }

    /// <summary>
    /// Divides a list into nodes by the lengths of its elements alone, so that the nodes can be counted before they are
    /// written.
    /// </summary>
    private struct NodeCutter
    {
        private long _bytes;

        public bool BeginsNode(int length)
        {
            bool plain = length >= PlainFrom;
            bool begins = plain || _bytes == 0 || _bytes + length + EntryOverhead > NodeBytes;
            _bytes = plain ? 0 : (begins ? 0 : _bytes) + length + EntryOverhead;
            return begins;
        }
    }

    private readonly record struct Shape(RdbType Type, long Count, long FirstExpiry = 0);
}
