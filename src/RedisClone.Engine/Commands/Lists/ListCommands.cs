using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Lists;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Lists;

/// <summary>
/// The list commands on a single key. <see cref="ListMoves"/> has the commands that move elements or block.
/// </summary>
internal static class ListCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("LPUSH key element [element ...]",
            -3, Keys.At(1, RW | Insert), Write | DenyOom | Fast, "list", "1.0.0", LPush, "Adds elements to a list's head.")
            { Complexity = PerElement },
        new("RPUSH key element [element ...]",
            -3, Keys.At(1, RW | Insert), Write | DenyOom | Fast, "list", "1.0.0", RPush, "Adds elements to a list's tail.")
            { Complexity = PerElement },
        new("LPUSHX key element [element ...]",
            -3, Keys.At(1, RW | Insert), Write | DenyOom | Fast, "list", "2.2.0", LPushX,
            "Adds elements to a list's head if the list exists.") { Complexity = PerElement },
        new("RPUSHX key element [element ...]",
            -3, Keys.At(1, RW | Insert), Write | DenyOom | Fast, "list", "2.2.0", RPushX,
            "Adds elements to a list's tail if the list exists.") { Complexity = PerElement },
        new("LPOP key [count]",
            -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "list", "1.0.0", LPop,
            "Removes and returns elements from a list's head.")
            { Complexity = "O(N) where N is the number of elements returned" },
        new("RPOP key [count]",
            -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "list", "1.0.0", RPop,
            "Removes and returns elements from a list's tail.")
            { Complexity = "O(N) where N is the number of elements returned" },
        new("LLEN key", 2, Keys.At(1, RO), ReadOnly | Fast, "list", "1.0.0", Length, "Counts a list's elements."),
        new("LRANGE key start stop",
            4, Keys.At(1, RO | Access), ReadOnly, "list", "1.0.0", Range, "Returns the elements between two positions.")
            { Complexity = "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end (HEAD " +
                "or TAIL) for large lists; and N is the number of elements in the specified range." },
        new("LINDEX key index",
            3, Keys.At(1, RO | Access), ReadOnly, "list", "1.0.0", Index, "Returns the element at a position.")
            { Complexity = "O(N) where N is the number of elements to traverse to get to the element at index. This makes " +
                "asking for the first or the last element of the list O(1)." },
        new("LSET key index element",
            4, Keys.At(1, RW | Update), Write | DenyOom, "list", "1.0.0", Set, "Replaces the element at a position.")
            { Complexity = "O(N) where N is the length of the list. Setting either the first or the last element of the list " +
                "is O(1)." },
        new("LINSERT key <BEFORE | AFTER> pivot element",
            5, Keys.At(1, RW | KeyFlags.Insert), Write | DenyOom, "list", "2.2.0", InsertBeside, "Inserts an element before or after another.")
            { Complexity = "O(N) where N is the number of elements to traverse before seeing the value pivot." },
        new("LREM key count element",
            4, Keys.At(1, RW | KeyFlags.Delete), Write, "list", "1.0.0", Remove, "Removes elements equal to a value.")
            { Complexity = "O(N+M) where N is the length of the list and M is the number of elements removed." },
        new("LTRIM key start stop",
            4, Keys.At(1, RW | KeyFlags.Delete), Write, "list", "1.0.0", Trim, "Keeps only the elements between two positions.")
            { Complexity = "O(N) where N is the number of elements to be removed by the operation." },
        new("LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
            -3, Keys.At(1, RO | Access), ReadOnly, "list", "6.0.6", Positions, "Returns the positions of an element.")
            { Complexity = "O(N) where N is the number of elements in the list, for the average case." },
    ];

    private const string PerElement = "O(1) for each element added";

    private static void LPush(ref CommandContext c) => Push(ref c, ListEnd.Head, create: true);

    private static void RPush(ref CommandContext c) => Push(ref c, ListEnd.Tail, create: true);

    private static void LPushX(ref CommandContext c) => Push(ref c, ListEnd.Head, create: false);

    private static void RPushX(ref CommandContext c) => Push(ref c, ListEnd.Tail, create: false);

    private static void LPop(ref CommandContext c) => Pop(ref c, ListEnd.Head);

    private static void RPop(ref CommandContext c) => Pop(ref c, ListEnd.Tail);

    /// <summary>The name of the event of a push at an end.</summary>
    public static string PushEvent(ListEnd end) => end == ListEnd.Head ? "lpush" : "rpush";

    public static string PopEvent(ListEnd end) => end == ListEnd.Head ? "lpop" : "rpop";

    private static void Push(ref CommandContext c, ListEnd end, bool create)
    {
        Entry entry = c.FindForWrite(1);
        if (entry.Exists && !c.Expect(entry, ValueType.List)) return;
        if (!entry.Exists && !create)
        {
            c.Reply.Integer(0);
            return;
        }
        ListValue.PushAll(ref entry, c.Args[1], end, new Elements(c.Args), c.Args.Count - Elements.First);
        long count = ListValue.Count(entry);
        c.Modified(1, NotifyFlags.List, PushEvent(end));
        c.Reply.Integer(count);
    }

    private static void Pop(ref CommandContext c, ListEnd end)
    {
        bool many = c.Args.Count == 3;
        if (c.Args.Count > 3) c.Fail(Errors.WrongArity(c.Row.FullName));
        long wanted = many && !c.Failed ? c.Int64(2, 0, long.MaxValue, Errors.NotPositive) : 1;
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists)
        {
            if (many) c.Reply.NullArray();
            else c.Reply.Null();
            return;
        }
        if (!c.Expect(entry, ValueType.List)) return;
        if (many && wanted == 0)
        {
            c.Reply.EmptyArray();
            return;
        }
        long count = Math.Min(wanted, ListValue.Count(entry));
        if (c.MoveToWorker(count)) return;
        if (many) c.Reply.ArrayHeader(count);
        ReplyAndPop(ref c, entry, 1, end, count);
    }

    /// <summary>Replies with elements at one end and removes them. It also removes the key of an empty list.</summary>
    public static void ReplyAndPop(ref CommandContext c, in Entry entry, int keyArgument, ListEnd end, long count)
    {
        if (count == 1) c.Reply.Element(ListValue.Peek(entry, end));
        else ReplyElements(ref c, entry, end, count);
        ListValue.Pop(entry, end, count);
        c.Modified(keyArgument, NotifyFlags.List, PopEvent(end));
        c.RemoveIfEmpty(entry, ListValue.Count(entry), keyArgument);
    }

    private static void ReplyElements(ref CommandContext c, in Entry entry, ListEnd end, long count)
    {
        bool tail = end == ListEnd.Tail;
        foreach (Element element in ListValue.Elements(entry, tail ? ListValue.Count(entry) - 1 : 0, backwards: tail))
        {
            if (count-- == 0) break;
            c.Reply.Element(element);
        }
    }

    private static void Length(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists) c.Reply.Integer(0);
        else if (c.Expect(entry, ValueType.List)) c.Reply.Integer(ListValue.Count(entry));
    }

    private static void Range(ref CommandContext c)
    {
        long start = c.Int64(2), stop = c.Int64(3);
        if (c.Failed) return;
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.EmptyArray();
            return;
        }
        if (!c.Expect(entry, ValueType.List)) return;
        long count = Clamp(ListValue.Count(entry), ref start, stop);
        if (c.MoveToWorker(count)) return;
        c.Reply.ArrayHeader(count);
        foreach (Element element in ListValue.Elements(entry, start))
        {
            if (count-- == 0) break;
            c.Reply.Element(element);
        }
    }

    /// <summary>
    /// Clamps a range of positions, of which negative ones count from the end. It sets <paramref name="start"/> to the first
    /// element and returns the number of elements.
    /// </summary>
    private static long Clamp(long length, ref long start, long stop)
    {
        if (start < 0) start = Math.Max(0, start + length);
        if (stop < 0) stop += length;
        stop = Math.Min(stop, length - 1);
        return start > stop ? 0 : stop - start + 1;
    }

    private static void Index(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            c.Reply.Null();
            return;
        }
        if (!c.Expect(entry, ValueType.List)) return;
        long index = c.Int64(2);
        if (c.Failed) return;
        if (index < 0) index += ListValue.Count(entry);
        if (ListValue.TryGet(entry, index, out Element element)) c.Reply.Element(element);
        else c.Reply.Null();
    }

    private static void Set(ref CommandContext c)
    {
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists) c.Fail(Errors.NoSuchKey);
        else c.Expect(entry, ValueType.List);
        if (c.Failed) return;
        long index = c.Int64(2);
        if (c.Failed) return;
        long count = ListValue.Count(entry);
        if (index < 0) index += count;
        if (index < 0 || index >= count)
        {
            c.Fail("ERR index out of range");
            return;
        }
        ListValue.Set(entry, index, c.Args[3]);
        c.Modified(1, NotifyFlags.List, "lset");
        c.Reply.Ok();
    }

    private static void InsertBeside(ref CommandContext c)
    {
        bool after = c.Is(2, "AFTER"u8);
        if (!after && !c.Is(2, "BEFORE"u8))
        {
            c.FailSyntax();
            return;
        }
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        if (!c.Expect(entry, ValueType.List) || c.MoveToWorker(ListValue.Count(entry))) return;
        long index = IndexOf(entry, c.Args[3]);
        if (index < 0)
        {
            c.Reply.Integer(-1);
            return;
        }
        ListValue.Insert(entry, after ? index + 1 : index, c.Args[4]);
        c.Modified(1, NotifyFlags.List, "linsert");
        c.Reply.Integer(ListValue.Count(entry));
    }

    private static long IndexOf(in Entry entry, ReadOnlySpan<byte> text)
    {
        Element wanted = Element.Of(text);
        long index = 0;
        foreach (Element element in ListValue.Elements(entry))
        {
            if (element.Is(wanted)) return index;
            index++;
        }
        return -1;
    }

    private static void Remove(ref CommandContext c)
    {
        long count = c.NegatableInt64(2);
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        if (!c.Expect(entry, ValueType.List) || c.MoveToWorker(ListValue.Count(entry))) return;
        long limit = count == 0 ? long.MaxValue : Math.Abs(count);
        long removed = ListValue.Remove(entry, c.Args[3], limit, count < 0 ? ListEnd.Tail : ListEnd.Head);
        if (removed > 0)
        {
            c.Modified(1, NotifyFlags.List, "lrem");
            c.RemoveIfEmpty(entry, ListValue.Count(entry), 1);
        }
        c.Reply.Integer(removed);
    }

    private static void Trim(ref CommandContext c)
    {
        long start = c.Int64(2), stop = c.Int64(3);
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (entry.Exists)
        {
            if (!c.Expect(entry, ValueType.List)) return;
            long length = ListValue.Count(entry);
            long kept = Clamp(length, ref start, stop);
            if (c.MoveToWorker(length - kept)) return;
            if (kept == 0)
            {
                entry.Keyspace.Remove(entry);
                c.Modified(1, NotifyFlags.List, "ltrim");
                c.Notify(1, NotifyFlags.Generic, "del");
            }
            else
            {
                ListValue.Pop(entry, ListEnd.Tail, length - start - kept);
                ListValue.Pop(entry, ListEnd.Head, start);
                c.Modified(1, NotifyFlags.List, "ltrim");
            }
        }
        c.Reply.Ok();
    }

    private static void Positions(ref CommandContext c)
    {
        long rank = 1, count = -1, most = 0;
        for (int i = 3; i < c.Args.Count && !c.Failed; i++)
        {
            bool more = i + 1 < c.Args.Count;
            if (more && c.Is(i, "RANK"u8))
            {
                rank = c.NegatableInt64(++i);
                if (!c.Failed && rank == 0)
                    c.Fail("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use " +
                        "negative to start from the end of the list");
            }
            else if (more && c.Is(i, "COUNT"u8))
            {
                count = c.Int64(++i, 0, long.MaxValue, "ERR COUNT can't be negative");
            }
            else if (more && c.Is(i, "MAXLEN"u8))
            {
                most = c.Int64(++i, 0, long.MaxValue, "ERR MAXLEN can't be negative");
            }
            else
            {
                c.FailSyntax();
            }
        }
        if (c.Failed) return;
        Entry entry = c.FindForRead(1);
        if (!entry.Exists)
        {
            if (count < 0) c.Reply.Null();
            else c.Reply.EmptyArray();
            return;
        }
        if (!c.Expect(entry, ValueType.List)) return;
        long length = ListValue.Count(entry);
        if (c.MoveToWorker(most == 0 ? length : Math.Min(most, length))) return;
        FindPositions(ref c, entry, length, rank, count, most);
    }

    private static void FindPositions(ref CommandContext c, in Entry entry, long length, long rank, long count, long most)
    {
        bool backwards = rank < 0;
        long skip = Math.Abs(rank) - 1, looked = 0, found = 0;
        Element wanted = Element.Of(c.Args[2]);
        DeferredReply reply = count >= 0 ? c.Reply.BeginDeferred() : default;
        foreach (Element element in ListValue.Elements(entry, backwards ? length - 1 : 0, backwards))
        {
            if (most > 0 && looked == most) break;
            long position = backwards ? length - 1 - looked : looked;
            looked++;
            if (!element.Is(wanted) || skip-- > 0) continue;
            found++;
            c.Reply.Integer(position);
            if (count < 0 || found == count) break;
        }
        if (count >= 0) c.Reply.EndArray(reply, found);
        else if (found == 0) c.Reply.Null();
    }

    /// <summary>The elements that a push adds.</summary>
    private readonly ref struct Elements(Request request) : ITexts
    {
        public const int First = 2;

        private readonly Request _request = request;

        public ReadOnlySpan<byte> this[int index] => _request[First + index];
    }
}
