namespace RedisClone.Journal.Rdb;

/// <summary>The result of reading a value.</summary>
public enum RdbResult
{
    Complete,

    /// <summary>
    /// A collection without elements, which an old defect of Redis could write. The loader of a file skips the key, and
    /// RESTORE refuses the payload.
    /// </summary>
    Empty,

    /// <summary>
    /// The value is damaged, rejected or of an unknown type. The error of the reader gives the reason.
    /// </summary>
    Damaged,
}

/// <summary>
/// Reads one value of an RDB, in any form up to Redis 8, and passes it to a visitor element by element.
/// </summary>
public static class RdbValueReader
{
    private const string Rejected = "an element is repeated or not valid";

    public static RdbResult Read(RdbReader reader, byte type, IRdbValueVisitor visitor)
    {
        long elements = 0;
        bool isRead = (RdbType)type switch
        {
            RdbType.String => ReadString(reader, visitor, ref elements),
            RdbType.List => ReadList(reader, visitor, ref elements),
            RdbType.Set => ReadSet(reader, visitor, ref elements),
            RdbType.Hash => ReadHash(reader, visitor, ref elements),
            RdbType.SortedSetText => ReadSortedSet(reader, visitor, isText: true, ref elements),
            RdbType.SortedSet => ReadSortedSet(reader, visitor, isText: false, ref elements),
            RdbType.HashMetadataOld => ReadExpiringHash(reader, visitor, hasBase: false, ref elements),
            RdbType.HashMetadata => ReadExpiringHash(reader, visitor, hasBase: true, ref elements),
            RdbType.ListQuicklist or RdbType.ListQuicklistZiplists => ReadQuicklist(reader, visitor, (RdbType)type, ref elements),
            RdbType.Stream or RdbType.Stream2 or RdbType.Stream3 or RdbType.Stream4 or RdbType.Stream5 =>
                RdbStreamReader.Read(reader, (RdbType)type, visitor, ref elements),
            RdbType.Module or RdbType.ModuleOld => RdbModule.Refuse(reader, (RdbType)type),
            _ => RdbPackedReader.Read(reader, (RdbType)type, visitor, ref elements),
        };
        if (!isRead)
        {
            reader.Fail(Rejected);
            return RdbResult.Damaged;
        }
        if (elements == 0) return RdbResult.Empty;
        if (visitor.End()) return RdbResult.Complete;
        reader.Fail(Rejected);
        return RdbResult.Damaged;
    }

    private static bool ReadString(RdbReader reader, IRdbValueVisitor visitor, ref long elements)
    {
        elements = 1;
        return visitor.Begin(RdbValueKind.String, 1) && reader.TryString(out ReadOnlySpan<byte> value) && visitor.String(value);
    }

    private static bool ReadList(RdbReader reader, IRdbValueVisitor visitor, ref long elements)
    {
        if (!reader.TryCount(out elements) || !visitor.Begin(RdbValueKind.List, elements)) return false;
        for (long i = 0; i < elements; i++)
            if (!reader.TryString(out ReadOnlySpan<byte> value) || !visitor.ListElement(value)) return false;
        return true;
    }

    private static bool ReadSet(RdbReader reader, IRdbValueVisitor visitor, ref long elements)
    {
        if (!reader.TryCount(out elements) || !visitor.Begin(RdbValueKind.Set, elements)) return false;
        for (long i = 0; i < elements; i++)
            if (!reader.TryString(out ReadOnlySpan<byte> member) || !visitor.SetMember(member)) return false;
        return true;
    }

    private static bool ReadHash(RdbReader reader, IRdbValueVisitor visitor, ref long elements)
    {
        if (!reader.TryCount(out elements) || !visitor.Begin(RdbValueKind.Hash, elements)) return false;
        for (long i = 0; i < elements; i++)
            if (!reader.TryHeldString(out ReadOnlySpan<byte> field) || !reader.TryString(out ReadOnlySpan<byte> value)
                || !visitor.HashField(field, value, -1)) return false;
        return true;
    }

    private static bool ReadSortedSet(RdbReader reader, IRdbValueVisitor visitor, bool isText, ref long elements)
    {
        if (!reader.TryCount(out elements) || !visitor.Begin(RdbValueKind.SortedSet, elements)) return false;
        for (long i = 0; i < elements; i++)
        {
            if (!reader.TryHeldString(out ReadOnlySpan<byte> member)) return false;
            if (!(isText ? reader.TryTextDouble(out double score) : reader.TryDouble(out score))) return false;
            if (double.IsNaN(score)) return reader.Fail("a score is not a number");
            if (!visitor.SortedSetMember(member, score)) return false;
        }
        return true;
    }

    /// <summary>
    /// The expiry times are relative to the lowest of them, plus one, because 0 means that there is none. In the form
    /// before the release of Redis 7.4 the times are absolute.
    /// </summary>
    private static bool ReadExpiringHash(RdbReader reader, IRdbValueVisitor visitor, bool hasBase, ref long elements)
    {
        long least = 1;
        if (hasBase && !reader.TryMilliseconds(out least)) return false;
        if (!reader.TryCount(out elements) || !visitor.Begin(RdbValueKind.Hash, elements)) return false;
        for (long i = 0; i < elements; i++)
        {
            if (!reader.TryLength(out ulong time)) return false;
            long expire = time == 0 ? -1 : unchecked((long)time + least - 1);
            if (time != 0 && !RdbPackedReader.IsTime(expire)) return reader.Fail("the expiry of a field is out of range");
            if (!reader.TryHeldString(out ReadOnlySpan<byte> field) || !reader.TryString(out ReadOnlySpan<byte> value)
                || !visitor.HashField(field, value, expire)) return false;
        }
        return true;
    }

    private static bool ReadQuicklist(RdbReader reader, IRdbValueVisitor visitor, RdbType type, ref long elements)
    {
        const ulong Plain = 1, Packed = 2;
        if (!reader.TryCount(out long nodes) || !visitor.Begin(RdbValueKind.List, 0)) return false;
        for (long i = 0; i < nodes; i++)
        {
            ulong container = Packed;
            if (type == RdbType.ListQuicklist && !reader.TryLength(out container)) return false;
            if (!reader.TryString(out ReadOnlySpan<byte> node)) return false;
            if (container is not (Plain or Packed) || node.IsEmpty) return reader.Fail("a list node is damaged");
            if (container == Plain)
            {
                if (!visitor.ListElement(node)) return false;
                elements++;
                continue;
            }
            bool isRead = type == RdbType.ListQuicklist
                ? RdbPackedReader.ListFromListpack(reader, node, visitor, ref elements)
                : RdbPackedReader.ListFromZiplist(reader, node, visitor, ref elements);
            if (!isRead) return false;
        }
        return true;
    }
}
