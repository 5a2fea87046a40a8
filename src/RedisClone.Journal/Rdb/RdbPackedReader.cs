namespace RedisClone.Journal.Rdb;

/// <summary>Reads values that are stored as one string in a packed form: listpack, ziplist, intset or zipmap.</summary>
internal static class RdbPackedReader
{
    /// <summary>Redis keeps the expiry of a field in 48 bits. The highest value means that there is none.</summary>
    private const long HighestTime = (1L << 48) - 2;

    private const int TextSize = 20;

    public static bool IsTime(long milliseconds) => milliseconds is >= 0 and <= HighestTime;

    public static bool Read(RdbReader reader, RdbType type, IRdbValueVisitor visitor, ref long elements)
    {
        switch (type)
        {
            case RdbType.SetIntset:
                return reader.TryString(out ReadOnlySpan<byte> bytes) && Intset(reader, bytes, visitor, ref elements);
            case RdbType.SetListpack:
                return reader.TryString(out bytes) && SetFromListpack(reader, bytes, visitor, ref elements);
            case RdbType.HashZipmap:
                return reader.TryString(out bytes) && Zipmap(reader, bytes, visitor, ref elements);
            case RdbType.HashZiplist:
                return reader.TryString(out bytes) && HashFromZiplist(reader, bytes, visitor, ref elements);
            case RdbType.HashListpack:
                return reader.TryString(out bytes) && HashFromListpack(reader, bytes, visitor, isExpiring: false, ref elements);
            case RdbType.HashListpackExpiringOld:
                return reader.TryString(out bytes) && HashFromListpack(reader, bytes, visitor, isExpiring: true, ref elements);
            case RdbType.HashListpackExpiring:
                return reader.TryMilliseconds(out _) && reader.TryString(out bytes)
                    && HashFromListpack(reader, bytes, visitor, isExpiring: true, ref elements);
            case RdbType.SortedSetZiplist:
                return reader.TryString(out bytes) && SortedSetFromZiplist(reader, bytes, visitor, ref elements);
            case RdbType.SortedSetListpack:
                return reader.TryString(out bytes) && SortedSetFromListpack(reader, bytes, visitor, ref elements);
            case RdbType.ListZiplist:
                return visitor.Begin(RdbValueKind.List, 0) && reader.TryString(out bytes)
                    && ListFromZiplist(reader, bytes, visitor, ref elements);
            default:
                return reader.Fail($"values of type {(int)type} are not known");
        }
    }

    public static bool ListFromListpack(RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> scratch = stackalloc byte[TextSize];
        var list = new ListpackReader(bytes);
        while (list.TryNext(out PackedValue value))
        {
            if (!visitor.ListElement(value.Text(scratch))) return false;
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Quicklist listpack");
    }

    public static bool ListFromZiplist(RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> scratch = stackalloc byte[TextSize];
        var list = new ZiplistReader(bytes);
        while (list.TryNext(out PackedValue value))
        {
            if (!visitor.ListElement(value.Text(scratch))) return false;
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Ziplist");
    }

    private static bool SetFromListpack(RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> scratch = stackalloc byte[TextSize];
        var list = new ListpackReader(bytes);
        if (!visitor.Begin(RdbValueKind.Set, Math.Max(list.Count, 0))) return false;
        while (list.TryNext(out PackedValue value))
        {
            if (!visitor.SetMember(value.Text(scratch))) return reader.Fail("Set listpack with dup elements");
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Set listpack");
    }

    private static bool Intset(RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> scratch = stackalloc byte[TextSize];
        var set = new IntsetReader(bytes);
        if (!visitor.Begin(RdbValueKind.Set, set.Count)) return false;
        while (set.TryNext(out long number))
        {
            if (!visitor.SetMember(new PackedValue(number).Text(scratch))) return reader.Fail("Intset with dup elements");
            elements++;
        }
        return !set.IsDamaged || Damaged(reader, "Intset");
    }

    private static bool Zipmap(RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        var map = new ZipmapReader(bytes);
        if (!visitor.Begin(RdbValueKind.Hash, 0)) return false;
        while (map.TryNext(out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value))
        {
            if (!visitor.HashField(field, value, -1)) return reader.Fail("Zipmap with dup elements");
            elements++;
        }
        return !map.IsDamaged && elements > 0 || Damaged(reader, "Zipmap");
    }

    private static bool HashFromListpack(
        RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, bool isExpiring, ref long elements)
    {
        Span<byte> fieldScratch = stackalloc byte[TextSize], valueScratch = stackalloc byte[TextSize];
        var list = new ListpackReader(bytes);
        if (!visitor.Begin(RdbValueKind.Hash, Math.Max(list.Count, 0) / (isExpiring ? 3 : 2))) return false;
        long latest = 0;
        while (list.TryNext(out PackedValue field))
        {
            if (!list.TryNext(out PackedValue value)) return Damaged(reader, "Hash listpack");
            long expire = -1;
            if (isExpiring)
            {
                if (!list.TryNext(out PackedValue time) || !time.TryNumber(out expire) || !IsTime(expire))
                    return Damaged(reader, "Hash listpack");

                // Redis orders the fields by expiry. Fields without an expiry come last.
                long order = expire == 0 ? HighestTime + 1 : expire;
                if (order < latest) return Damaged(reader, "Hash listpack");
                latest = order;
                if (expire == 0) expire = -1;
            }
            if (!visitor.HashField(field.Text(fieldScratch), value.Text(valueScratch), expire))
                return reader.Fail("Hash listpack with dup elements");
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Hash listpack");
    }

    private static bool HashFromZiplist(RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> fieldScratch = stackalloc byte[TextSize], valueScratch = stackalloc byte[TextSize];
        var list = new ZiplistReader(bytes);
        if (!visitor.Begin(RdbValueKind.Hash, 0)) return false;
        while (list.TryNext(out PackedValue field))
        {
            if (!list.TryNext(out PackedValue value)) return Damaged(reader, "Hash ziplist");
            if (!visitor.HashField(field.Text(fieldScratch), value.Text(valueScratch), -1))
                return reader.Fail("Hash ziplist with dup elements");
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Hash ziplist");
    }

    private static bool SortedSetFromListpack(
        RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> scratch = stackalloc byte[TextSize];
        var list = new ListpackReader(bytes);
        if (!visitor.Begin(RdbValueKind.SortedSet, Math.Max(list.Count, 0) / 2)) return false;
        while (list.TryNext(out PackedValue member))
        {
            if (!list.TryNext(out PackedValue text) || !text.TryScore(out double score)) return Damaged(reader, "Zset listpack");
            if (!visitor.SortedSetMember(member.Text(scratch), score)) return reader.Fail("Zset listpack with dup elements");
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Zset listpack");
    }

    private static bool SortedSetFromZiplist(
        RdbReader reader, ReadOnlySpan<byte> bytes, IRdbValueVisitor visitor, ref long elements)
    {
        Span<byte> scratch = stackalloc byte[TextSize];
        var list = new ZiplistReader(bytes);
        if (!visitor.Begin(RdbValueKind.SortedSet, 0)) return false;
        while (list.TryNext(out PackedValue member))
        {
            if (!list.TryNext(out PackedValue text) || !text.TryScore(out double score)) return Damaged(reader, "Zset ziplist");
            if (!visitor.SortedSetMember(member.Text(scratch), score)) return reader.Fail("Zset ziplist with dup elements");
            elements++;
        }
        return !list.IsDamaged || Damaged(reader, "Zset ziplist");
    }

    private static bool Damaged(RdbReader reader, string what) => reader.Fail($"{what} integrity check failed");
}
