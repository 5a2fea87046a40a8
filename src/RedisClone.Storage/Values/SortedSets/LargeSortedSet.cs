using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.SortedSets;

/// <summary>The root of a large sorted set.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct SortedSetRoot
{
    public TableRoot Table;
    public TreeRoot Order;
}

/// <summary>A member in the order of a large sorted set: the score is here, the name is in the table.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly record struct ScoreItem(double Score, uint Handle) : ITreeItem<ScoreItem>
{
    public static long WeightOf(ReadOnlySpan<ScoreItem> items) => items.Length;

    public static int IndexOf(ReadOnlySpan<ScoreItem> items, ref long rank) => UniformWeight.IndexOf(items.Length, ref rank);
}

/// <summary>A large sorted set: a table of members with their scores, and a tree of the members in order.</summary>
internal static class LargeSortedSet
{
    public static MemberTable Table(in Entry entry) =>
        new(entry.Keyspace.Store.Arena, ref LargeValues.Root<SortedSetRoot>(entry).Table);

    public static RankTree<ScoreItem> Order(in Entry entry) =>
        new(entry.Keyspace.Store.Arena, ref LargeValues.Root<SortedSetRoot>(entry).Order);

    public static ScoredMember Read(MemberTable table, in ScoreItem item) =>
        new(new Element(table.Read(item.Handle).Name), item.Score);

    public static ScoredMember Read(MemberTable table, uint handle)
    {
        MemberRecord record = table.Read(handle);
        return new(new Element(record.Name), ScoreOf(record));
    }

    /// <summary>Turns a packed sorted set into a large one.</summary>
    public static void Convert(in Entry entry)
    {
        Arena arena = entry.Keyspace.Store.Arena;
        SortedSetRoot root = default;
        try
        {
            ReadOnlySpan<byte> entries = new PackedValue(entry).Entries;
            Span<byte> text = stackalloc byte[IntegerText.MaxLength];
            for (int at = 0; at < entries.Length;)
            {
                ScoredMember member = PackedScores.Read(entries, at, out at);
                Set(arena, ref root, member.Member.Text(text), member.Score, out _);
            }
        }
        catch
        {
            LargeValues.FreeAll(arena, ValueType.SortedSet, LargeValues.BytesOf(ref root));
            throw;
        }
        LargeValues.Publish(entry, ref root);
    }

    /// <summary>Turns a large sorted set into a packed one, unless it is too long or memory is missing.</summary>
    public static void TryPack(in Entry entry)
    {
        SortedSetRoot root = LargeValues.Root<SortedSetRoot>(entry);
        long bytes = PackedValue.CountBytes;
        foreach (ScoredMember member in SortedSetValue.Members(entry)) bytes += PackedScores.SizeOf(member);
        if (bytes > ValueLimits.MaxPackedBytes) return;
        try
        {
            using Scratch packed = new((int)bytes);
            BinaryPrimitives.WriteInt32LittleEndian(packed.Bytes, (int)root.Table.Index.Records);
            int at = PackedValue.CountBytes;
            foreach (ScoredMember member in SortedSetValue.Members(entry)) at += PackedScores.Write(packed.Bytes[at..], member);
            entry.Keyspace.Resize(entry, (int)bytes);
            Keyspace.SetForm(entry, ValueType.SortedSet, ValueEncoding.Packed);
            packed.Bytes.CopyTo(entry.Value);
        }
        catch (OutOfMemoryException)
        {
            return;
        }
        LargeValues.FreeAll(entry.Keyspace.Store.Arena, ValueType.SortedSet, LargeValues.BytesOf(ref root));
    }

    public static bool TryGetScore(in Entry entry, ReadOnlySpan<byte> member, out double score)
    {
        MemberTable table = Table(entry);
        uint handle = table.Find(member);
        score = handle == 0 ? 0 : ScoreOf(table.Read(handle));
        return handle != 0;
    }

    public static bool Set(in Entry entry, ReadOnlySpan<byte> member, double score, out double previous) =>
        Set(entry.Keyspace.Store.Arena, ref LargeValues.Root<SortedSetRoot>(entry), member, score, out previous);

    private static bool Set(Arena arena, ref SortedSetRoot root, ReadOnlySpan<byte> member, double score, out double previous)
    {
        var table = new MemberTable(arena, ref root.Table);
        var order = new RankTree<ScoreItem>(arena, ref root.Order);
        ulong hash = KeyHash.Of(member);
        ref uint slot = ref table.Find(member, hash);
        NumberForm form = FormOf(score, out long number);
        if (Unsafe.IsNullRef(ref slot))
        {
            previous = 0;
            uint added = table.Add(member, hash, form, number);
            if (TryAdd(order, table, member, new ScoreItem(score, added))) return true;
            table.Remove(hash, ref table.Index.FindHandle(hash, added));
            Arena.ThrowOutOfMemory();
        }
        previous = ScoreOf(table.Read(slot));
        if (previous == score) return false;        // also keeps 0 when -0 is set, as Redis does
        TreePath path = SeekItem(order, table, member, previous);
        if (table.Read(slot).Form == form && StaysBetween(order.Leaf(ref path), path[0].Index, score))
        {
            table.Read(slot).SetNumber(number);
            order.Update(ref path, new ScoreItem(score, slot));
            return false;
        }
        // Inserts the new place first, because that can fail for lack of memory.
        uint prepared = table.Prepare(slot, form, number);
        TreePath place = order.Seek(new BeforeMember(table, member, score));
        if (!order.TryInsert(ref place, new ScoreItem(score, prepared), ref path, out bool isPathValid))
        {
            table.Discard(slot, prepared);
            Arena.ThrowOutOfMemory();
        }
        arena.BeginChange();
        if (!isPathValid) path = SeekItem(order, table, member, previous);
        order.Remove(ref path);
        if (prepared == slot) table.Read(slot).SetNumber(number);
        else table.Publish(ref slot, prepared);
        arena.EndChange();
        return false;
    }

    public static bool Remove(in Entry entry, ReadOnlySpan<byte> member)
    {
        MemberTable table = Table(entry);
        ulong hash = KeyHash.Of(member);
        ref uint slot = ref table.Find(member, hash);
        if (Unsafe.IsNullRef(ref slot)) return false;
        RankTree<ScoreItem> order = Order(entry);
        TreePath path = SeekItem(order, table, member, ScoreOf(table.Read(slot)));
        order.Remove(ref path);
        table.Remove(hash, ref slot);
        return true;
    }

    public static bool TryGetRank(in Entry entry, ReadOnlySpan<byte> member, out long rank, out double score)
    {
        rank = 0;
        if (!TryGetScore(entry, member, out score)) return false;
        TreePath path = Seek(entry, member, score);
        rank = Order(entry).RankOf(ref path);
        return true;
    }

    /// <summary>
    /// The number of members with a lower score, or with <paramref name="orEqual"/> a score that is not higher.
    /// </summary>
    public static long CountBefore(in Entry entry, double score, bool orEqual)
    {
        TreePath path = Order(entry).Seek(new BeforeScore(score, orEqual));
        return Order(entry).RankOf(ref path);
    }

    public static long CountBefore(in Entry entry, LexBound bound, bool asLower)
    {
        TreePath path = Order(entry).Seek(new BeforeBound(Table(entry), bound, asLower));
        return Order(entry).RankOf(ref path);
    }

    public static void RemoveRange(in Entry entry, RankRange range)
    {
        MemberTable table = Table(entry);
        RankTree<ScoreItem> order = Order(entry);
        for (long left = range.Count; left > 0; left--)
        {
            TreePath path = order.SeekRank(range.Start, out _);
            uint handle = order.At(ref path).Handle;
            order.Remove(ref path);
            ulong hash = KeyHash.Of(table.Read(handle).Name);
            table.Remove(hash, ref table.Index.FindHandle(hash, handle));
        }
    }

    /// <summary>Replaces the handle of a member in the order, while both handles are readable.</summary>
    public static void Redirect(Arena arena, ref SortedSetRoot root, uint handle, uint moved)
    {
        var table = new MemberTable(arena, ref root.Table);
        var order = new RankTree<ScoreItem>(arena, ref root.Order);
        MemberRecord record = table.Read(handle);
        TreePath path = order.Seek(new BeforeMember(table, record.Name, ScoreOf(record)));
        bool found = order.IsAtItem(ref path);
        Debug.Assert(found && order.At(ref path).Handle == handle);
        order.Update(ref path, order.At(ref path) with { Handle = moved });
    }

    private static TreePath Seek(in Entry entry, ReadOnlySpan<byte> member, double score) =>
        Order(entry).Seek(new BeforeMember(Table(entry), member, score));

    private static TreePath SeekItem(RankTree<ScoreItem> order, MemberTable table, ReadOnlySpan<byte> member, double score)
    {
        TreePath path = order.Seek(new BeforeMember(table, member, score));
        bool found = order.IsAtItem(ref path);
        Debug.Assert(found, "the table has a member that the order lacks");
        return path;
    }

    private static bool TryAdd(RankTree<ScoreItem> order, MemberTable table, ReadOnlySpan<byte> member, ScoreItem item)
    {
        TreePath path = order.Seek(new BeforeMember(table, member, item.Score));
        return order.TryInsert(ref path, item);
    }

    /// <summary>Whether an item can change its score in place. Only neighbours in the same leaf are compared.</summary>
    private static bool StaysBetween(ReadOnlySpan<ScoreItem> leaf, int index, double score) =>
        index > 0 && index + 1 < leaf.Length && leaf[index - 1].Score < score && score < leaf[index + 1].Score;

    private static NumberForm FormOf(double score, out long number)
    {
        // Compares bits, because -0 is not the integer 0.
        number = BitConverter.DoubleToInt64Bits(score);
        if (score is < int.MinValue or > int.MaxValue || BitConverter.DoubleToInt64Bits((int)score) != number)
            return NumberForm.Int64;
        number = (int)score;
        return NumberForm.Int32;
    }

    private static double ScoreOf(MemberRecord record) =>
        record.Form == NumberForm.Int32 ? record.Number : BitConverter.Int64BitsToDouble(record.Number);

    private readonly ref struct BeforeMember(MemberTable table, ReadOnlySpan<byte> member, double score) : ITreeProbe<ScoreItem>
    {
        private readonly MemberTable _table = table;
        private readonly ReadOnlySpan<byte> _member = member;

        public bool IsAfter(in ScoreItem item) =>
            item.Score < score || item.Score == score && _table.Read(item.Handle).Name.SequenceCompareTo(_member) < 0;
    }

    private readonly struct BeforeScore(double score, bool orEqual) : ITreeProbe<ScoreItem>
    {
        public bool IsAfter(in ScoreItem item) => item.Score < score || orEqual && item.Score == score;
    }

    private readonly ref struct BeforeBound(MemberTable table, LexBound bound, bool asLower) : ITreeProbe<ScoreItem>
    {
        private readonly MemberTable _table = table;
        private readonly LexBound _bound = bound;

        public bool IsAfter(in ScoreItem item) => _bound.IsAfter(new Element(_table.Read(item.Handle).Name), asLower);
    }
}
