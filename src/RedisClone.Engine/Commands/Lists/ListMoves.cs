using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Lists;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Lists;

/// <summary>
/// List commands on several keys: moves, pops from the first list that has elements (see <see cref="FirstPops"/>), and their
/// blocking forms.
/// </summary>
internal static class ListMoves
{
    private static readonly KeySpec[] SourceAndTarget = Keys.At(1, RW | Access | KeyFlags.Delete).And(Keys.At(2, RW | Insert));

    public static readonly CommandRow[] Rows =
    [
        new("LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>",
            5, SourceAndTarget, Write | DenyOom, "list", "6.2.0", Move, "Moves an element from one list to another."),
        new("RPOPLPUSH source destination",
            3, SourceAndTarget, Write | DenyOom, "list", "1.2.0", PopPush,
            "Moves the last element of a list to the head of another.")
            { DeprecatedSince = "6.2.0", ReplacedBy = "`LMOVE` with the `RIGHT` and `LEFT` arguments" },
        new("LMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> [<COUNT count | EXACTLY count> <OBO | BULK>]",
            -5, SourceAndTarget, Write | DenyOom, "list", "8.10.0", MoveMany, "Moves several elements from one list to another.")
            { Complexity = "O(N) where N is the number of elements moved." },
        new("LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            -4, Keys.Counted(1, RW | Access | KeyFlags.Delete), Write, "list", "7.0.0", PopMany, "Removes and returns elements of the first non-empty list.")
            { Complexity = OfKeysAndElements },
        new("BLPOP key [key ...] timeout",
            -3, Keys.Range(1, -2, flags: RW | Access | KeyFlags.Delete), Write | Blocking, "list", "2.0.0", BlockingLPop,
            "Removes and returns the first element of the first non-empty list; blocks until there is one.")
            { Complexity = "O(N) where N is the number of provided keys." },
        new("BRPOP key [key ...] timeout",
            -3, Keys.Range(1, -2, flags: RW | Access | KeyFlags.Delete), Write | Blocking, "list", "2.0.0", BlockingRPop,
            "Removes and returns the last element of the first non-empty list; blocks until there is one.")
            { Complexity = "O(N) where N is the number of provided keys." },
        new("BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
            6, SourceAndTarget, Write | DenyOom | Blocking, "list", "6.2.0", BlockingMove,
            "Moves an element from one list to another; blocks until there is one."),
        new("BLMOVEM source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout [<COUNT count | EXACTLY count> <OBO | BULK>]",
            -6, SourceAndTarget, Write | DenyOom | Blocking, "list", "8.10.0", BlockingMoveMany,
            "Moves several elements from one list to another; blocks until there are some.") { Complexity = "O(N) where N is the number of elements moved." },
        new("BRPOPLPUSH source destination timeout",
            4, SourceAndTarget, Write | DenyOom | Blocking, "list", "2.2.0", BlockingPopPush,
            "Moves the last element of a list to the head of another; blocks until there is one.")
            { DeprecatedSince = "6.2.0", ReplacedBy = "`BLMOVE` with the `RIGHT` and `LEFT` arguments" },
        new("BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            -5, Keys.Counted(2, RW | Access | KeyFlags.Delete), Write | Blocking, "list", "7.0.0", BlockingPopMany,
            "Removes and returns elements of the first non-empty list; blocks until there is one.") { Complexity = OfKeysAndElements },
    ];

    private const string OfKeysAndElements = "O(N+M) where N is the number of provided keys and M is the number of elements " +
        "returned.";

    // ---- pops

    private static readonly PopKind s_kind =
        new(ValueType.List, new PopEnd("LEFT", "LPOP"u8.ToArray()), new PopEnd("RIGHT", "RPOP"u8.ToArray()), Parts: 1, ListValue.Count, Take);

    private static void Take(ref CommandContext c, in Entry entry, int keyArgument, PopEnd end, long count, bool nested) =>
        ListCommands.ReplyAndPop(ref c, entry, keyArgument, end == s_kind.First ? ListEnd.Head : ListEnd.Tail, count);

    private static void BlockingLPop(ref CommandContext c) => FirstPops.One(ref c, s_kind, s_kind.First);

    private static void BlockingRPop(ref CommandContext c) => FirstPops.One(ref c, s_kind, s_kind.Last);

    private static void PopMany(ref CommandContext c) => FirstPops.Many(ref c, s_kind, 1, waits: false);

    private static void BlockingPopMany(ref CommandContext c) => FirstPops.Many(ref c, s_kind, 2, waits: true);

    // ---- moves

    private static void Move(ref CommandContext c)
    {
        if (TryEnd(ref c, 3, out ListEnd from) && TryEnd(ref c, 4, out ListEnd to)) Move(ref c, from, to, milliseconds: -1);
    }

    private static void PopPush(ref CommandContext c) => Move(ref c, ListEnd.Tail, ListEnd.Head, milliseconds: -1);

    private static void BlockingMove(ref CommandContext c)
    {
        if (TryEnd(ref c, 3, out ListEnd from) && TryEnd(ref c, 4, out ListEnd to) && FirstPops.TryTimeout(ref c, 5, out long milliseconds))
            Move(ref c, from, to, milliseconds);
    }

    private static void BlockingPopPush(ref CommandContext c)
    {
        if (FirstPops.TryTimeout(ref c, 3, out long milliseconds)) Move(ref c, ListEnd.Tail, ListEnd.Head, milliseconds);
    }

    private static void Move(ref CommandContext c, ListEnd from, ListEnd to, long milliseconds)
    {
        Entry source = c.FindForWrite(1);
        if (!source.Exists)
        {
            if (milliseconds >= 0 && c.CanBlock) c.Block(milliseconds, ValueType.List, 1, 1, nullIsArray: true);
            else c.Reply.Null();
            return;
        }
        if (!c.Expect(source, ValueType.List)) return;
        Entry target = c.FindForWrite(2);
        if (target.Exists && !c.Expect(target, ValueType.List)) return;
        ReplaceMoveEffect(ref c, from, to);
        MoveOne(ref c, from, to);
        c.Modified(2, NotifyFlags.List, ListCommands.PushEvent(to));
        c.AlsoModified(1, NotifyFlags.List, ListCommands.PopEvent(from));
        RemoveSourceIfEmpty(ref c);
    }

    /// <summary>Makes the effect of BRPOPLPUSH an RPOPLPUSH, and that of BLMOVE an LMOVE, which never block.</summary>
    private static void ReplaceMoveEffect(ref CommandContext c, ListEnd from, ListEnd to)
    {
        bool namesEnds = c.Row.Name != "brpoplpush";
        if (!c.Row.Has(Blocking) || c.ReplaceEffect(arguments: namesEnds ? 5 : 3) is not { } effect) return;
        effect.Add(namesEnds ? "LMOVE"u8 : "RPOPLPUSH"u8);
        effect.Add(c.Args[1]);
        effect.Add(c.Args[2]);
        if (!namesEnds) return;
        effect.Add(EndName(from));
        effect.Add(EndName(to));
    }

    /// <summary>
    /// Moves the element at one end of the first list to an end of the second one. Both may be the same list.
    /// </summary>
    private static void MoveOne(ref CommandContext c, ListEnd from, ListEnd to)
    {
        Entry source = c.FindForWrite(1);
        Element element = ListValue.Peek(source, from);
        Span<byte> digits = stackalloc byte[RedisNumber.MaxInt64Length];
        ReadOnlySpan<byte> text = element.Text(digits);
        // A change of the list moves the bytes of the element, so they are copied first.
        byte[] copy = RentedArrays.Rent<byte>(text.Length);
        text.CopyTo(copy);
        ReadOnlySpan<byte> moved = copy.AsSpan(0, text.Length);
        c.Reply.Bulk(moved);
        bool isRotation = c.Args[1].SequenceEqual(c.Args[2]);
        if (!isRotation || from != to && !ListValue.TryRotate(source, from))
        {
            PushTo(ref c, to, new OneText(moved), count: 1);
            RemoveMoved(ref c, from, to, 1);
        }
        RentedArrays.Return(copy);
    }

    /// <summary>
    /// Removes elements from the source after they were added to the target. An element is never in neither list, because memory may be
    /// missing for the addition, and the removal needs none.
    /// </summary>
    private static void RemoveMoved(ref CommandContext c, ListEnd from, ListEnd to, long count)
    {
        Entry source = c.Peek(1);
        long before = from == to && c.Args[1].SequenceEqual(c.Args[2]) ? count : 0;     // the added elements
        ListValue.RemoveAt(source, from == ListEnd.Head ? before : ListValue.Count(source) - before - count, count);
    }

    private static void PushTo<TTexts>(ref CommandContext c, ListEnd end, scoped in TTexts texts, int count)
        where TTexts : struct, ITexts, allows ref struct
    {
        ulong hash = c.HashOf(2);
        Entry target = c.KeyspaceOf(hash).Find(c.Args[2], hash);
        ListValue.PushAll(ref target, c.Args[2], end, texts, count);
    }

    private static void RemoveSourceIfEmpty(ref CommandContext c)
    {
        Entry source = c.FindForWrite(1);
        if (source.Exists) c.RemoveIfEmpty(source, ListValue.Count(source), 1);
    }

    private static void MoveMany(ref CommandContext c) => MoveMany(ref c, 5, milliseconds: -1);

    private static void BlockingMoveMany(ref CommandContext c)
    {
        if (FirstPops.TryTimeout(ref c, 5, out long milliseconds)) MoveMany(ref c, 6, milliseconds);
    }

    private static void MoveMany(ref CommandContext c, int options, long milliseconds)
    {
        if (!TryEnd(ref c, 3, out ListEnd from) || !TryEnd(ref c, 4, out ListEnd to)) return;
        long wanted = 1;
        bool exactly = false, keepOrder = false;
        if (c.Args.Count > options)
        {
            exactly = c.Is(options, "EXACTLY"u8);
            if (c.Args.Count != options + 3 || !exactly && !c.Is(options, "COUNT"u8)) c.FailSyntax();
            else if (!(keepOrder = c.Is(options + 2, "BULK"u8)) && !c.Is(options + 2, "OBO"u8)) c.FailSyntax();
            else wanted = c.Int64(options + 1, 1, long.MaxValue, FirstPops.NotPositive);
            if (c.Failed) return;
        }
        Entry source = c.FindForWrite(1);
        if (source.Exists && !c.Expect(source, ValueType.List)) return;
        long present = source.Exists ? ListValue.Count(source) : 0;
        if (present == 0 || exactly && present < wanted)
        {
            if (milliseconds >= 0 && c.CanBlock)
                c.Block(milliseconds, ValueType.List, 1, 1, nullIsArray: true, exactly ? HasEnough : null, wanted);
            else c.Reply.NullArray();
            return;
        }
        Entry target = c.FindForWrite(2);
        if (target.Exists && !c.Expect(target, ValueType.List)) return;
        long count = Math.Min(wanted, present);
        if (c.MoveToWorker(count)) return;
        MoveSeveral(ref c, from, to, count, keepOrder);
    }

    private static bool HasEnough(in Entry entry, Shards.Waiter waiter) => ListValue.Count(entry) >= (long)waiter.State!;

    private static void MoveSeveral(ref CommandContext c, ListEnd from, ListEnd to, long count, bool keepOrder)
    {
        Entry source = c.FindForWrite(1);
        bool tail = from == ListEnd.Tail;
        // The elements are in the order of their pops. Pushes at the head reverse them.
        var taken = new List<byte[]>((int)Math.Min(count, 1024));
        Span<byte> digits = stackalloc byte[RedisNumber.MaxInt64Length];
        foreach (Element element in ListValue.Elements(source, tail ? ListValue.Count(source) - 1 : 0, backwards: tail))
        {
            if (taken.Count == count) break;
            taken.Add(element.Text(digits).ToArray());
        }
        // With BULK, the elements keep the order of the source list.
        if (keepOrder && tail != (to == ListEnd.Head)) taken.Reverse();
        c.Reply.ArrayHeader(taken.Count);
        for (int i = 0; i < taken.Count; i++) c.Reply.Bulk(taken[to == ListEnd.Head ? taken.Count - 1 - i : i]);
        PushTo(ref c, to, new Texts(taken), taken.Count);
        RemoveMoved(ref c, from, to, count);
        if (c.ReplaceEffect(arguments: 8) is { } effect)
        {
            effect.Add("LMOVEM"u8);
            effect.Add(c.Args[1]);
            effect.Add(c.Args[2]);
            effect.Add(EndName(from));
            effect.Add(EndName(to));
            effect.Add("EXACTLY"u8);
            effect.Add(count);
            effect.Add(keepOrder ? "BULK"u8 : "OBO"u8);
        }
        c.Modified(2, NotifyFlags.List, ListCommands.PushEvent(to));
        c.AlsoModified(1, NotifyFlags.List, ListCommands.PopEvent(from));
        RemoveSourceIfEmpty(ref c);
    }

    // ---- arguments

    private static bool TryEnd(ref CommandContext c, int argument, out ListEnd end)
    {
        bool isEnd = s_kind.TryEnd(ref c, argument, out PopEnd named);
        end = named == s_kind.First ? ListEnd.Head : ListEnd.Tail;
        return isEnd;
    }

    private static ReadOnlySpan<byte> EndName(ListEnd end) => end == ListEnd.Head ? "left"u8 : "right"u8;

    private readonly ref struct OneText(ReadOnlySpan<byte> text) : ITexts
    {
        private readonly ReadOnlySpan<byte> _text = text;

        public ReadOnlySpan<byte> this[int index] => _text;
    }

    private readonly struct Texts(List<byte[]> texts) : ITexts
    {
        public ReadOnlySpan<byte> this[int index] => texts[index];
    }
}
