using System.Text;
using RedisClone.Configuration;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values.SortedSets;

namespace RedisClone.Engine.Commands.Geo;

/// <summary>The options of a search except those for its center and its shape.</summary>
internal enum GeoOption
{
    None,
    WithDistance,
    WithHash,
    WithPoint,
    Any,
    Ascending,
    Descending,
    Count,
    Store,
    StoreDistance,
}

/// <summary>GEOSEARCH and its older forms: they return or store members within a circle or a box.</summary>
internal static class GeoSearch
{
    [Flags]
    private enum Form
    {
        None = 0,

        /// <summary>GEORADIUS: center and radius are positional arguments.</summary>
        Place = 1,

        /// <summary>GEORADIUSBYMEMBER: member and radius are positional arguments.</summary>
        Member = 2,

        /// <summary>The command has the options STORE and STOREDIST.</summary>
        MayStore = 4,

        /// <summary>The command is GEOSEARCHSTORE.</summary>
        Stores = 8,
    }

    public static void Search(ref CommandContext c) => Run(ref c, 1, Form.None);

    public static void SearchStore(ref CommandContext c) => Run(ref c, 2, Form.Stores);

    public static void Radius(ref CommandContext c) => Run(ref c, 1, Form.Place | Form.MayStore);

    public static void RadiusByMember(ref CommandContext c) => Run(ref c, 1, Form.Member | Form.MayStore);

    public static void RadiusReadOnly(ref CommandContext c) => Run(ref c, 1, Form.Place);

    public static void RadiusByMemberReadOnly(ref CommandContext c) => Run(ref c, 1, Form.Member);

    private struct Options
    {
        public GeoShape Shape;
        public bool WithDistance, WithHash, WithPoint, Any, StoreDistance, FromMember, FromPlace, ByRadius, ByBox;
        public bool? Descending;
        public long Count;

        /// <summary>The index of the target key; 0 for none.</summary>
        public int Target;
    }

    private static void Run(ref CommandContext c, int key, Form form)
    {
        if (!c.TryFind(key, ValueType.SortedSet, write: false, out Entry entry)) return;
        Options options = default;
        if (!TryParse(ref c, entry, key, form, ref options)) return;
        if (!entry.Exists)
        {
            ReplyNothing(ref c, options.Target);
            return;
        }
        if (c.MoveToWorker(SortedSetValue.Count(entry))) return;
        // A search with COUNT returns the nearest members, unless it has ANY.
        if (options.Count > 0 && !options.Any) options.Descending ??= false;
        var matches = new GeoMatches();
        matches.Find(entry, options.Shape, options.Any ? options.Count : 0);
        int count = options.Count == 0 ? matches.Count : (int)Math.Min(options.Count, matches.Count);
        if (options.Descending is { } descending) matches.Sort(descending);
        if (options.Target == 0) Reply(ref c, matches, count, options);
        else Store(ref c, matches, count, options, (form & Form.MayStore) != 0 ? "georadiusstore" : "geosearchstore");
        matches.Dispose();
    }

    private static void ReplyNothing(ref CommandContext c, int target)
    {
        if (target == 0)
        {
            c.Reply.EmptyArray();
            return;
        }
        Entry old = c.FindForWrite(target);
        if (old.Exists) c.Remove(old, target);
        c.Reply.Integer(0);
    }

    private static void Reply(ref CommandContext c, in GeoMatches matches, int count, in Options options)
    {
        int extras = (options.WithDistance ? 1 : 0) + (options.WithHash ? 1 : 0) + (options.WithPoint ? 1 : 0);
        c.Reply.ArrayHeader(count);
        foreach (ref readonly GeoMatch match in matches.Items[..count])
        {
            if (extras > 0) c.Reply.ArrayHeader(extras + 1);
            c.Reply.Bulk(matches.NameOf(match));
            if (options.WithDistance) GeoCommands.ReplyDistance(ref c, match.Distance / options.Shape.Unit);
            if (options.WithHash) c.Reply.Integer((long)match.Score);
            if (options.WithPoint) GeoCommands.ReplyPoint(ref c, match.Point);
        }
    }

    private static void Store(ref CommandContext c, in GeoMatches matches, int count, in Options options, string keyEvent)
    {
        Entry built = SortedSetValue.Create(c.ScratchFor(options.Target), c.Args[options.Target], c.HashOf(options.Target));
        foreach (ref readonly GeoMatch match in matches.Items[..count])
            SortedSetValue.Set(built, matches.NameOf(match), options.StoreDistance ? match.Distance / options.Shape.Unit : match.Score, out _);
        c.Store(built, options.Target, count, NotifyFlags.Zset, keyEvent);
        c.Reply.Integer(count);
    }

    // ---- arguments

    private static bool TryParse(ref CommandContext c, in Entry entry, int key, Form form, ref Options options)
    {
        int next = key + 1;
        bool search = (form & (Form.Place | Form.Member)) == 0;
        if ((form & Form.Stores) != 0) options.Target = 1;
        if ((form & Form.Place) != 0)
        {
            next = key + 5;
            if (!TryPlace(ref c, key + 1, ref options) || !TryRadius(ref c, key + 3, ref options)) return false;
        }
        else if ((form & Form.Member) != 0)
        {
            next = key + 4;
            if (entry.Exists && (!TryMember(ref c, entry, key + 1, ref options) || !TryRadius(ref c, key + 2, ref options))) return false;
        }
        for (int i = next; i < c.Args.Count; i++)
        {
            int left = c.Args.Count - i - 1;
            bool parsed = TryOption(ref c, ref i, left, form, ref options)
                || search && TryShape(ref c, entry, ref i, left, ref options);
            if (!parsed) c.FailSyntax();
            if (c.Failed) return false;
        }
        return TryTogether(ref c, search, form, options);
    }

    /// <summary>The option at an argument. The handler and the search for the target key both use it.</summary>
    public static GeoOption OptionAt(in Request request, int i)
    {
        ReadOnlySpan<byte> word = request[i];
        if (Ascii.EqualsIgnoreCase(word, "WITHDIST"u8)) return GeoOption.WithDistance;
        if (Ascii.EqualsIgnoreCase(word, "WITHHASH"u8)) return GeoOption.WithHash;
        if (Ascii.EqualsIgnoreCase(word, "WITHCOORD"u8)) return GeoOption.WithPoint;
        if (Ascii.EqualsIgnoreCase(word, "ANY"u8)) return GeoOption.Any;
        if (Ascii.EqualsIgnoreCase(word, "ASC"u8)) return GeoOption.Ascending;
        if (Ascii.EqualsIgnoreCase(word, "DESC"u8)) return GeoOption.Descending;
        if (Ascii.EqualsIgnoreCase(word, "COUNT"u8)) return GeoOption.Count;
        if (Ascii.EqualsIgnoreCase(word, "STORE"u8)) return GeoOption.Store;
        return Ascii.EqualsIgnoreCase(word, "STOREDIST"u8) ? GeoOption.StoreDistance : GeoOption.None;
    }

    private static bool TryOption(ref CommandContext c, ref int i, int left, Form form, ref Options options)
    {
        GeoOption option = OptionAt(c.Args, i);
        switch (option)
        {
            case GeoOption.WithDistance:
                options.WithDistance = true;
                return true;
            case GeoOption.WithHash:
                options.WithHash = true;
                return true;
            case GeoOption.WithPoint:
                options.WithPoint = true;
                return true;
            case GeoOption.Any:
                options.Any = true;
                return true;
            case GeoOption.Ascending or GeoOption.Descending:
                options.Descending = option == GeoOption.Descending;
                return true;
            case GeoOption.Count when left >= 1:
                options.Count = c.Int64(++i);
                if (!c.Failed && options.Count <= 0) c.Fail("ERR COUNT must be > 0");
                return true;
            case GeoOption.StoreDistance when (form & Form.Stores) != 0:
                options.StoreDistance = true;
                return true;
            case GeoOption.Store or GeoOption.StoreDistance when left >= 1 && (form & Form.MayStore) != 0:
                options.Target = ++i;
                options.StoreDistance = option == GeoOption.StoreDistance;
                return true;
            default:
                return false;
        }
    }

    private static bool TryShape(ref CommandContext c, in Entry entry, ref int i, int left, ref Options options)
    {
        if (left >= 1 && !options.FromPlace && c.Is(i, "FROMMEMBER"u8))
        {
            options.FromMember = true;
            i++;
            return !entry.Exists || TryMember(ref c, entry, i, ref options);
        }
        if (left >= 2 && !options.FromMember && c.Is(i, "FROMLONLAT"u8))
        {
            options.FromPlace = true;
            i += 2;
            return TryPlace(ref c, i - 1, ref options);
        }
        if (left >= 2 && !options.ByBox && c.Is(i, "BYRADIUS"u8))
        {
            options.ByRadius = true;
            i += 2;
            return TryRadius(ref c, i - 1, ref options);
        }
        if (left >= 3 && !options.ByRadius && c.Is(i, "BYBOX"u8))
        {
            options.ByBox = true;
            i += 3;
            return TryBox(ref c, i - 2, ref options);
        }
        return false;
    }

    private static bool TryTogether(ref CommandContext c, bool search, Form form, in Options options)
    {
        if (options.Target > 0 && (options.WithDistance || options.WithHash || options.WithPoint))
            return c.Fail($"ERR {((form & Form.Stores) != 0 ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS")} " +
                "is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
        if (search && !options.FromMember && !options.FromPlace)
            return c.Fail($"ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {c.Echo(0)}");
        if (search && !options.ByRadius && !options.ByBox)
            return c.Fail($"ERR exactly one of BYRADIUS and BYBOX can be specified for {c.Echo(0)}");
        return !options.Any || options.Count > 0 || c.Fail("ERR the ANY argument requires COUNT argument");
    }

    private static bool TryPlace(ref CommandContext c, int argument, ref Options options)
    {
        if (!GeoCommands.TryPoint(ref c, argument, out GeoPoint point)) return false;
        options.Shape.Center = point;
        return true;
    }

    private static bool TryMember(ref CommandContext c, in Entry entry, int argument, ref Options options)
    {
        if (!SortedSetValue.TryGetScore(entry, c.Args[argument], out double score)) return c.Fail("ERR could not decode requested zset member");
        options.Shape.Center = GeoPoint.OfScore(score);
        return true;
    }

    private static bool TryRadius(ref CommandContext c, int argument, ref Options options)
    {
        double radius = c.Double(argument, "ERR need numeric radius");
        if (!c.Failed && radius < 0) c.Fail("ERR radius cannot be negative");
        if (c.Failed || !GeoCommands.TryUnit(ref c, argument + 1, out double unit)) return false;
        options.Shape.IsBox = false;
        options.Shape.Radius = radius;
        options.Shape.Unit = unit;
        return true;
    }

    private static bool TryBox(ref CommandContext c, int argument, ref Options options)
    {
        double width = c.Double(argument, "ERR need numeric width");
        double height = c.Failed ? 0 : c.Double(argument + 1, "ERR need numeric height");
        if (!c.Failed && (width < 0 || height < 0)) c.Fail("ERR height or width cannot be negative");
        if (c.Failed || !GeoCommands.TryUnit(ref c, argument + 2, out double unit)) return false;
        options.Shape.IsBox = true;
        options.Shape.Width = width;
        options.Shape.Height = height;
        options.Shape.Unit = unit;
        return true;
    }
}
