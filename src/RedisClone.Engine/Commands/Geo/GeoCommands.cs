using System.Globalization;
using RedisClone.Engine.Commands.SortedSets;
using RedisClone.Engine.Effects;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values.SortedSets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Geo;

/// <summary>Geographic commands: a member of a sorted set is a point, and its score is the cell of the point.</summary>
internal static class GeoCommands
{
    private const string Searched = "O(N+log(M)) where N is the number of elements inside the bounding box of the circular " +
        "area delimited by center and radius and M is the number of items inside the index.";

    public static readonly CommandRow[] Rows =
    [
        new("GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
            -5, Keys.At(1, RW | Update), Write | DenyOom, "geo", "3.2.0", Add, "Adds members with positions on Earth.")
            { FirstMember = 4, Complexity = "O(log(N)) for each item added, where N is the number of elements in the sorted " +
                "set." },
        new("GEOPOS key [member [member ...]]",
            -2, Keys.At(1, RO | Access), ReadOnly, "geo", "3.2.0", Positions, "Returns the positions of members.")
            { Complexity = "O(1) for each member requested." },
        new("GEOHASH key [member [member ...]]",
            -2, Keys.At(1, RO | Access), ReadOnly, "geo", "3.2.0", Hashes, "Returns the positions of members as geohash strings.")
            { Complexity = "O(1) for each member requested." },
        new("GEODIST key member1 member2 [M | KM | FT | MI]",
            -4, Keys.At(1, RO | Access), ReadOnly, "geo", "3.2.0", Distance, "Returns the distance between two members.")
            { FirstMember = 2 },
        new("GEOSEARCH key <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <M | KM | FT | MI> | BYBOX " +
            "width height <M | KM | FT | MI>> [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
            -7, Keys.At(1, RO | Access), ReadOnly, "geo", "6.2.0", GeoSearch.Search, "Finds members within a circle or a box.")
            { Complexity = "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the " +
                "shape provided as the filter and M is the number of items inside the shape" },
        new("GEOSEARCHSTORE destination source <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <M | KM | " +
            "FT | MI> | BYBOX width height <M | KM | FT | MI>> [ASC | DESC] [COUNT count [ANY]] [STOREDIST]",
            -8, Keys.At(1, OW | Update).And(Keys.At(2, RO | Access)), Write | DenyOom, "geo", "6.2.0", GeoSearch.SearchStore,
            "Stores the members within a circle or a box.")
            { Complexity = "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the " +
                "shape provided as the filter and M is the number of items inside the shape" },
        new("GEORADIUS key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] " +
            "[ASC | DESC] [STORE key | STOREDIST key]",
            -6, WithStore(6), Write | DenyOom, "geo", "3.2.0", GeoSearch.Radius, "Finds members within a circle around a " +
                "position, or stores them.")
            {
                FindKeys = FindKeysOfRadius,
                Complexity = Searched,
                DeprecatedSince = "6.2.0",
                ReplacedBy = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
            },
        new("GEORADIUSBYMEMBER key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] " +
            "[ASC | DESC] [STORE key | STOREDIST key]",
            -5, WithStore(5), Write | DenyOom, "geo", "3.2.0", GeoSearch.RadiusByMember, "Finds members within a circle around " +
                "another member, or stores them.")
            {
                FirstMember = 2,
                FindKeys = FindKeysOfRadiusByMember,
                Complexity = Searched,
                DeprecatedSince = "6.2.0",
                ReplacedBy = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
            },
        new("GEORADIUS_RO key longitude latitude radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count " +
            "[ANY]] [ASC | DESC]",
            -6, Keys.At(1, RO | Access), ReadOnly, "geo", "3.2.10", GeoSearch.RadiusReadOnly, "Finds members within a circle around a position.")
            { Complexity = Searched, DeprecatedSince = "6.2.0", ReplacedBy = "`GEOSEARCH` with the `BYRADIUS` argument" },
        new("GEORADIUSBYMEMBER_RO key member radius <M | KM | FT | MI> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] " +
            "[ASC | DESC]",
            -5, Keys.At(1, RO | Access), ReadOnly, "geo", "3.2.10", GeoSearch.RadiusByMemberReadOnly, "Finds members within a circle around another member.")
            { FirstMember = 2, Complexity = Searched, DeprecatedSince = "6.2.0", ReplacedBy = "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments" },
    ];

    private static KeySpec[] WithStore(int firstOption) =>
        Keys.At(1, RO | Access).And(Keys.After("STORE", firstOption, OW | Update)).And(Keys.After("STOREDIST", firstOption, OW | Update));

    private static void FindKeysOfRadius(in Request request, ref KeyPositions into) => FindKeys(request, 6, ref into);

    private static void FindKeysOfRadiusByMember(in Request request, ref KeyPositions into) => FindKeys(request, 5, ref into);

    /// <summary>
    /// Finds the keys of all STORE and STOREDIST options, as Redis does, although the last one is the target. After an
    /// invalid option, the handler fails before it looks up the target.
    /// </summary>
    private static void FindKeys(in Request request, int firstOption, ref KeyPositions into)
    {
        into.Add(1, RO | Access);
        for (int i = firstOption; i < request.Count; i++)
        {
            GeoOption option = GeoSearch.OptionAt(request, i);
            if (option == GeoOption.None) break;
            if (option is GeoOption.Count or GeoOption.Store or GeoOption.StoreDistance) i++;
            if (i < request.Count && option is (GeoOption.Store or GeoOption.StoreDistance)) into.Add(i, OW | Update);
        }
    }

    private static void Add(ref CommandContext c)
    {
        SortedSetCommands.AddOptions options = SortedSetCommands.AddOptions.None;
        int first = 2;
        for (; first < c.Args.Count; first++)
        {
            if (c.Is(first, "NX"u8)) options |= SortedSetCommands.AddOptions.Nx;
            else if (c.Is(first, "XX"u8)) options |= SortedSetCommands.AddOptions.Xx;
            else if (c.Is(first, "CH"u8)) options |= SortedSetCommands.AddOptions.Changed;
            else break;
        }
        int points = (c.Args.Count - first) / 3;
        const SortedSetCommands.AddOptions both = SortedSetCommands.AddOptions.Nx | SortedSetCommands.AddOptions.Xx;
        if (points == 0 || (c.Args.Count - first) % 3 != 0 || (options & both) == both)
        {
            c.FailSyntax();
            return;
        }
        double[] scores = RentedArrays.Rent<double>(points);
        for (int i = 0; i < points && !c.Failed; i++)
            if (TryPoint(ref c, first + 3 * i, out GeoPoint point)) scores[i] = GeoCell.Of(point).Bits;
        // A score can have more digits than the coordinates that it is computed from.
        long text = c.Args.WireLength + (long)points * RedisNumber.MaxInt64Length;
        if (!c.Failed && c.ReserveEffects(EffectBuffer.SizeOf(c.Args.Count, text)))
        {
            SortedSetCommands.Add(ref c, options, first + 2, 3, scores.AsSpan(0, points));
            if (c.Changes > 0) ReplaceByAdd(ref c, first, scores.AsSpan(0, points));
        }
        RentedArrays.Return(scores);
    }

    /// <summary>Makes the effect a ZADD with the scores.</summary>
    private static void ReplaceByAdd(ref CommandContext c, int first, ReadOnlySpan<double> scores)
    {
        if (c.ReplaceEffect(arguments: first + 2 * scores.Length) is not { } effect) return;
        effect.Add("ZADD"u8);
        for (int i = 1; i < first; i++) effect.Add(c.Args[i]);
        for (int i = 0; i < scores.Length; i++)
        {
            effect.Add((long)scores[i]);
            effect.Add(c.Args[first + 3 * i + 2]);
        }
    }

    /// <summary>Parses a longitude and a latitude at an argument and the next one.</summary>
    public static bool TryPoint(ref CommandContext c, int argument, out GeoPoint point)
    {
        point = new GeoPoint(c.Double(argument), c.Failed ? 0 : c.Double(argument + 1));
        if (c.Failed) return false;
        return point.IsValid
            || c.Fail(string.Create(CultureInfo.InvariantCulture, $"ERR invalid longitude,latitude pair {Fixed(point.Longitude)},{Fixed(point.Latitude)}"));
    }

    private static string Fixed(double value) =>
        double.IsFinite(value) ? value.ToString("F6", CultureInfo.InvariantCulture) : value > 0 ? "inf" : "-inf";

    /// <summary>Parses a unit and returns its length in meters.</summary>
    public static bool TryUnit(ref CommandContext c, int argument, out double metres)
    {
        metres = c.Is(argument, "M"u8) ? 1 : c.Is(argument, "KM"u8) ? 1000 : c.Is(argument, "FT"u8) ? 0.3048 : c.Is(argument, "MI"u8) ? 1609.34 : 0;
        return metres != 0 || c.Fail("ERR unsupported unit provided. please use M, KM, FT, MI");
    }

    public static void ReplyPoint(ref CommandContext c, GeoPoint point)
    {
        c.Reply.ArrayHeader(2);
        c.Reply.Double(point.Longitude);
        c.Reply.Double(point.Latitude);
    }

    public static void ReplyDistance(ref CommandContext c, double distance)
    {
        Span<byte> text = stackalloc byte[RedisNumber.MaxDoubleLength];
        c.Reply.Bulk(text[..RedisNumber.FormatFixed(distance, 4, text)]);
    }

    private static void Positions(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++)
        {
            if (entry.Exists && SortedSetValue.TryGetScore(entry, c.Args[i], out double score)) ReplyPoint(ref c, GeoPoint.OfScore(score));
            else c.Reply.NullArray();
        }
    }

    private static void Hashes(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        c.Reply.ArrayHeader(c.Args.Count - 2);
        Span<byte> text = stackalloc byte[11];
        for (int i = 2; i < c.Args.Count; i++)
        {
            if (!entry.Exists || !SortedSetValue.TryGetScore(entry, c.Args[i], out double score))
            {
                c.Reply.Null();
                continue;
            }
            // A geohash string divides latitudes from pole to pole, but a cell only the latitudes of the Mercator projection.
            ulong bits = GeoCell.Of(GeoPoint.OfScore(score), latitudeLimit: 90).Bits;
            for (int k = 0; k < 10; k++) text[k] = "0123456789bcdefghjkmnpqrstuvwxyz"u8[(int)(bits >> (52 - (k + 1) * 5)) & 0x1F];
            // 52 bits make ten characters and two more bits. As in Redis, the eleventh character is always 0.
            text[10] = (byte)'0';
            c.Reply.Bulk(text);
        }
    }

    private static void Distance(ref CommandContext c)
    {
        double unit = 1;
        if (c.Args.Count == 5) TryUnit(ref c, 4, out unit);
        else if (c.Args.Count > 5) c.FailSyntax();
        if (c.Failed || !c.TryFind(1, ValueType.SortedSet, write: false, out Entry entry)) return;
        if (entry.Exists && SortedSetValue.TryGetScore(entry, c.Args[2], out double first) && SortedSetValue.TryGetScore(entry, c.Args[3], out double second))
            ReplyDistance(ref c, GeoPoint.OfScore(first).DistanceTo(GeoPoint.OfScore(second)) / unit);
        else c.Reply.Null();
    }
}
