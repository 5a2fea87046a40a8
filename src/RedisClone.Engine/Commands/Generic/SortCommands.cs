using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Strings;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>
/// SORT: returns or stores the sorted elements of a list, set or sorted set, or values that GET patterns find for them.
/// </summary>
internal static class SortCommands
{
    /// <summary>The work of sorting an element, relative to copying it.</summary>
    private const int WorkPerElement = 8;

    public static readonly CommandRow[] Rows =
    [
        new("SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA] [STORE destination]",
            -2, Keys.At(1, RO | Access).And(Keys.Unknown(RO | Access), Keys.Unknown(OW | Update)),
            Write | DenyOom, "generic", "1.0.0", Sort,
            "Returns the elements of a list, set or sorted set in order, or stores them.")
            {
                Route = ShardsOfSort,
                FindKeys = FindKeysOfSort,
                Categories = ["set", "sortedset", "list", "dangerous"],
                Complexity = OfSort,
            },
        new("SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC | DESC] [ALPHA]",
            -2, Keys.At(1, RO | Access).And(Keys.Unknown(RO | Access)), ReadOnly, "generic", "7.0.0", SortReadOnly,
            "Returns the elements of a list, set or sorted set in order.")
            { Route = ShardsOfSort, Categories = ["set", "sortedset", "list", "dangerous"], Complexity = OfSort },
    ];

    private const string OfSort = "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the " +
        "number of returned elements. When the elements are not sorted, complexity is O(N).";

    /// <summary>
    /// Finds the key and the target. After an invalid option, the keys before it are enough, because the handler fails before
    /// it looks up any.
    /// </summary>
    private static void FindKeysOfSort(in Request request, ref KeyPositions into)
    {
        into.Add(1, RO | Access);
        SortOptions.TryParse(request, mayStore: true, mayReadAll: true, out SortOptions options, out _);
        if (options.Target > 0) into.Add(options.Target, OW | Update);
    }

    /// <summary>
    /// The shards of the key and the target, or all shards if there is a pattern, because only the elements determine the
    /// keys that it matches.
    /// </summary>
    private static ShardSet ShardsOfSort(in Request request, Session session)
    {
        ShardMap shards = session.Server.Shards;
        ShardSet set = ShardSet.Of(shards.IndexOf(shards.HashOf(request[1])));
        SortOptions.TryParse(request, mayStore: true, mayReadAll: true, out SortOptions options, out _);
        if (options.LooksUp) return shards.All;
        if (options.Target > 0) set.Add(shards.IndexOf(shards.HashOf(request[options.Target])));
        return set;
    }

    private static void Sort(ref CommandContext c) => Sort(ref c, mayStore: true);

    private static void SortReadOnly(ref CommandContext c) => Sort(ref c, mayStore: false);

    /// <summary>An element and its sort key. Equal elements keep their order.</summary>
    private sealed record Item(byte[] Text, int Order)
    {
        public double Weight;
        public byte[]? By;
    }

    /// <summary>In a cluster, the keys that a pattern reads must have the slot of the sorted key.</summary>
    private static string? RefuseInCluster(in Request request, in SortOptions options)
    {
        const string reason = " option of SORT denied in cluster mode when keys formed by the pattern may be in different slots.";
        int slot = KeySlot.Of(request[1]);
        if (options.By > 0 && !options.Unsorted && KeySlot.OfPattern(request[options.By]) != slot) return "ERR BY" + reason;
        foreach (int get in options.Gets ?? [])
            if (request[get].Contains((byte)'*') && KeySlot.OfPattern(request[get]) != slot) return "ERR GET" + reason;
        return null;
    }

    private static void Sort(ref CommandContext c, bool mayStore)
    {
        // Elements determine the keys that patterns read, so a user of patterns needs permission to read every key.
        bool mayReadAll = c.Session.User.MayReadEveryKey(c.Row, c.Args);
        if (!SortOptions.TryParse(c.Args, mayStore, mayReadAll, out SortOptions options, out string? error))
        {
            c.Fail(error!);
            return;
        }
        if (options.LooksUp && c.Data.Config.ClusterEnabled && RefuseInCluster(c.Args, options) is { } refusal)
        {
            c.Fail(refusal);
            return;
        }
        Entry entry = c.FindForRead(1);
        if (entry.Exists && entry.Type is not (ValueType.List or ValueType.Set or ValueType.SortedSet))
        {
            c.Fail(Errors.WrongType);
            return;
        }
        long count = CountOf(entry);
        if (c.MoveToWorker(count * WorkPerElement)) return;
        // A set has no order. A stored result, or one that a script sees, must not depend on the layout in memory, so it is
        // sorted.
        if (options.Unsorted && (options.Target > 0 || c.Session.IsScript) && entry.Exists && entry.Type == ValueType.Set)
        {
            options.Unsorted = false;
            options.Alphabetic = true;
            options.By = 0;
        }
        List<Item> items = Load(entry, (int)count, options is { Unsorted: true, Descending: true });
        if (!options.Unsorted && !TrySort(ref c, items, options)) return;
        long start = Math.Min(Math.Max(options.Offset, 0), count);
        long end = options.Limit < 0 ? count : Math.Min(count, start + Math.Min(options.Limit, count));
        if (options.Target > 0) Store(ref c, items, (int)start, (int)end, options);
        else Reply(ref c, items, (int)start, (int)end, options);
    }

    private static long CountOf(scoped in Entry entry) => !entry.Exists ? 0 : entry.Type switch
    {
        ValueType.List => ListValue.Count(entry),
        ValueType.Set => SetValue.Count(entry),
        _ => SortedSetValue.Count(entry),
    };

    /// <summary>Copies the elements, because lookups of other keys may move them.</summary>
    private static List<Item> Load(scoped in Entry entry, int count, bool backwards)
    {
        var items = new List<Item>(count);
        if (count == 0) return items;
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        switch (entry.Type)
        {
            case ValueType.List:
                foreach (Element element in ListValue.Elements(entry, backwards ? count - 1 : 0, backwards)) Add(items, element.Text(digits));
                break;
            case ValueType.Set:
                foreach (Element element in SetValue.Members(entry)) Add(items, element.Text(digits));
                break;
            default:
                foreach (ScoredMember member in SortedSetValue.Members(entry, new RankRange(0, count), backwards)) Add(items, member.Member.Text(digits));
                break;
        }
        return items;
    }

    private static void Add(List<Item> items, ReadOnlySpan<byte> text) => items.Add(new Item(text.ToArray(), items.Count));

    private static bool TrySort(ref CommandContext c, List<Item> items, in SortOptions options)
    {
        foreach (Item item in items)
        {
            byte[]? by = options.By > 0 ? LookUp(ref c, c.Args[options.By], item.Text) : item.Text;
            item.By = by;
            if (options.Alphabetic || by is null || by.Length == 0) continue;
            if (!TryParseWeight(by, out item.Weight)) return c.Fail("ERR One or more scores can't be converted into double");
        }
        Comparison<Item> comparison = options.Alphabetic ? CompareTexts : CompareWeights;
        int sign = options.Descending ? -1 : 1;
        items.Sort((a, b) => comparison(a, b) is not 0 and var order ? sign * Math.Sign(order) : a.Order - b.Order);
        return true;
    }

    /// <summary>
    /// Parses a weight like C's strtod: leading white space is ignored, a NUL ends the text, and an empty text is zero.
    /// </summary>
    private static bool TryParseWeight(ReadOnlySpan<byte> text, out double weight)
    {
        int end = text.IndexOf((byte)0);
        return RedisNumber.TryParseLooseDouble(end < 0 ? text : text[..end], out weight);
    }

    private static int CompareWeights(Item a, Item b) =>
        a.Weight.CompareTo(b.Weight) is not 0 and var order ? order : a.Text.AsSpan().SequenceCompareTo(b.Text);

    /// <summary>Compares by text. Elements without a text come first.</summary>
    private static int CompareTexts(Item a, Item b)
    {
        if (a.By is null || b.By is null) return a.By is null ? b.By is null ? 0 : -1 : 1;
        return a.By.AsSpan().SequenceCompareTo(b.By);
    }

    private static void Reply(ref CommandContext c, List<Item> items, int start, int end, in SortOptions options)
    {
        int width = options.Gets?.Count ?? 1;
        c.Reply.ArrayHeader((long)(end - start) * width);
        for (int i = start; i < end; i++)
        {
            if (options.Gets is null)
            {
                c.Reply.Bulk(items[i].Text);
                continue;
            }
            foreach (int get in options.Gets)
            {
                if (LookUp(ref c, c.Args[get], items[i].Text) is { } found) c.Reply.Bulk(found);
                else c.Reply.Null();
            }
        }
    }

    private static void Store(ref CommandContext c, List<Item> items, int start, int end, in SortOptions options)
    {
        int width = options.Gets?.Count ?? 1;
        long stored = (long)(end - start) * width;
        Entry built = ListValue.Create(c.ScratchFor(options.Target), c.Args[options.Target], c.HashOf(options.Target));
        for (int i = start; i < end; i++)
        {
            if (options.Gets is null) ListValue.Push(built, ListEnd.Tail, items[i].Text);
            else foreach (int get in options.Gets) ListValue.Push(built, ListEnd.Tail, LookUp(ref c, c.Args[get], items[i].Text) ?? []);
        }
        bool replaces = c.FindForWrite(options.Target).Exists;
        if (!c.ReserveEffects(SizeOfEffects(c, built, stored, options)))
        {
            built.Keyspace.Remove(built);
            return;
        }
        // The effect has the stored elements, because the keys that they were read from may be in any shard.
        if (stored > 0 || replaces) c.ReplaceEffect("DEL"u8, c.Args[options.Target]);
        if (stored > 0 && c.ReplaceEffect(arguments: (int)stored + 2) is { } effect)
        {
            effect.Add("RPUSH"u8);
            effect.Add(c.Args[options.Target]);
            Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
            foreach (Element element in ListValue.Elements(built)) effect.Add(element.Text(digits));
        }
        c.Store(built, options.Target, stored, NotifyFlags.List, "sortstore");
        c.Reply.Integer(stored);
    }

    private static long SizeOfEffects(scoped in CommandContext c, scoped in Entry built, long stored, in SortOptions options)
    {
        long text = "DEL"u8.Length + "RPUSH"u8.Length + 2L * c.Args[options.Target].Length;
        if (!c.EffectsWanted) return 0;
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        foreach (Element element in ListValue.Elements(built)) text += element.Text(digits).Length;
        return EffectBuffer.SizeOf(2, 0) + EffectBuffer.SizeOf(stored + 2, text);
    }

    /// <summary>
    /// The value that a pattern gives for an element: the element itself for "#"; otherwise the string at the key, or the
    /// hash field after "->". The element replaces the first star in the key.
    /// </summary>
    private static byte[]? LookUp(ref CommandContext c, ReadOnlySpan<byte> pattern, byte[] element)
    {
        if (pattern.SequenceEqual("#"u8)) return element;
        int star = pattern.IndexOf((byte)'*');
        if (star < 0) return null;
        ReadOnlySpan<byte> rest = pattern[(star + 1)..], field = default;
        int arrow = rest.IndexOf("->"u8);
        if (arrow >= 0 && arrow + 2 < rest.Length)
        {
            field = rest[(arrow + 2)..];
            rest = rest[..arrow];
        }
        byte[] key = [.. pattern[..star], .. element, .. rest];
        Entry entry = c.Find(key, c.Data.Shards.HashOf(key), c.Session.Database);
        if (!entry.Exists) return null;
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        if (!field.IsEmpty)
            return entry.Type == ValueType.Hash && HashValue.TryGet(entry, field, out HashField found) ? found.Value.Text(digits).ToArray() : null;
        return entry.Type == ValueType.String ? StringValue.Bytes(entry, digits).ToArray() : null;
    }
}
