namespace RedisClone.Journal.Rdb;

/// <summary>
/// One node of a stream. Its listpack begins with a master entry: the number of entries, the number of deleted entries,
/// the fields that entries share, and a zero. Each entry consists of flags, the difference between its ID and the ID of
/// the node, the number of fields (unless the entry uses the shared fields), the fields and values, and the number of
/// its elements.
/// </summary>
internal static class RdbStreamNode
{
    public const int Deleted = 1;
    public const int SameFields = 2;

    /// <summary>
    /// The number of elements of an entry beside its fields: the flags and two ID differences. The count itself is not
    /// included.
    /// </summary>
    private const int EntryOverhead = 3;

    private const int TextSize = 20;

    /// <summary>
    /// Reads a node. Returns false if the node is damaged or the visitor rejects it, which sets
    /// <paramref name="isRejected"/>.
    /// </summary>
    public static bool Read(
        ReadOnlySpan<byte> bytes, RdbStreamId master, IRdbValueVisitor visitor, ref ulong entries, ref RdbStreamId? last,
        out bool isRejected)
    {
        isRejected = false;
        var list = new ListpackReader(bytes);
        if (!TryNumber(ref list, out long alive) || !TryNumber(ref list, out long deleted)) return false;
        if (!TryNumber(ref list, out long shared)) return false;
        if (alive < 0 || deleted < 0 || shared < 0 || shared > bytes.Length) return false;
        ListpackReader sharedFields = list;
        for (long i = 0; i < shared; i++)
            if (!list.TryNext(out _)) return false;
        if (!TryNumber(ref list, out long zero) || zero != 0) return false;

        while (list.TryNext(out PackedValue flagsValue))
        {
            if (!flagsValue.TryNumber(out long flags) || flags is < 0 or > (Deleted | SameFields)) return false;
            if (!TryNumber(ref list, out long milliseconds) || !TryNumber(ref list, out long sequence)) return false;
            long fields = shared;
            bool isSame = (flags & SameFields) != 0;
            if (!isSame && !TryNumber(ref list, out fields)) return false;
            if (fields < 0 || fields > bytes.Length) return false;
            var id = new RdbStreamId(master.Milliseconds + (ulong)milliseconds, master.Sequence + (ulong)sequence);
            bool isAlive = (flags & Deleted) == 0;
            if (isAlive)
            {
                if (last is { } before && Compare(id, before) <= 0) return false;
                last = id;
                entries++;
                alive--;
                isRejected = !visitor.StreamEntry(id, (int)fields);
                if (isRejected) return false;
            }
            else
            {
                deleted--;
            }
            if (!ReadFields(ref list, sharedFields, fields, isSame, isAlive ? visitor : null, out isRejected)) return false;
            long elements = isSame ? fields + EntryOverhead : fields * 2 + EntryOverhead + 1;
            if (!TryNumber(ref list, out long counted) || counted != elements) return false;
        }
        return !list.IsDamaged && alive == 0 && deleted == 0;
    }

    private static bool ReadFields(
        ref ListpackReader list, ListpackReader shared, long fields, bool isSame, IRdbValueVisitor? visitor, out bool isRejected)
    {
        Span<byte> fieldScratch = stackalloc byte[TextSize], valueScratch = stackalloc byte[TextSize];
        isRejected = false;
        for (long i = 0; i < fields; i++)
        {
            if (!(isSame ? shared.TryNext(out PackedValue field) : list.TryNext(out field))
                || !list.TryNext(out PackedValue value))
                return false;
            if (visitor is null || visitor.StreamField(field.Text(fieldScratch), value.Text(valueScratch))) continue;
            isRejected = true;
            return false;
        }
        return true;
    }

    private static bool TryNumber(ref ListpackReader list, out long number)
    {
        number = 0;
        return list.TryNext(out PackedValue value) && value.TryNumber(out number);
    }

    private static int Compare(RdbStreamId a, RdbStreamId b) =>
        a.Milliseconds != b.Milliseconds ? a.Milliseconds.CompareTo(b.Milliseconds) : a.Sequence.CompareTo(b.Sequence);
}
