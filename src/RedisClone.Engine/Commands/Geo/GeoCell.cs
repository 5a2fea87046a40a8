namespace RedisClone.Engine.Commands.Geo;

/// <summary>A point on Earth in degrees.</summary>
internal readonly record struct GeoPoint(double Longitude, double Latitude)
{
    public const double LongitudeLimit = 180, LatitudeLimit = 85.05112878;

    private const double EarthRadius = 6372797.560856;
    private const double RadiansPerDegree = Math.PI / 180;

    public bool IsValid => Math.Abs(Longitude) <= LongitudeLimit && Math.Abs(Latitude) <= LatitudeLimit;

    /// <summary>The center of the smallest cell that the score of a member identifies.</summary>
    public static GeoPoint OfScore(double score) => new GeoCell(BitsOf(score), GeoCell.MaxStep).Center;

    /// <summary>The distance in meters by the haversine formula.</summary>
    public double DistanceTo(GeoPoint other)
    {
        double v = Math.Sin((other.Longitude * RadiansPerDegree - Longitude * RadiansPerDegree) / 2);
        if (v == 0) return LatitudeDistanceTo(other);
        double first = Latitude * RadiansPerDegree, second = other.Latitude * RadiansPerDegree;
        double u = Math.Sin((second - first) / 2);
        return 2.0 * EarthRadius * Math.Asin(Math.Sqrt(u * u + Math.Cos(first) * Math.Cos(second) * v * v));
    }

    public double LatitudeDistanceTo(GeoPoint other) =>
        EarthRadius * Math.Abs(other.Latitude * RadiansPerDegree - Latitude * RadiansPerDegree);

    /// <summary>
    /// Converts a score to the bits of a cell. A score that GEOADD did not set may be negative, huge or infinite. The result
    /// is that of the C conversion in Redis on common processors.
    /// </summary>
    private static ulong BitsOf(double score)
    {
        const double Half = 1UL << 63;
        return score < Half ? Truncate(score) : Truncate(score - Half) ^ 1UL << 63;

        static ulong Truncate(double value) => value is >= -Half and < Half ? (ulong)(long)value : 1UL << 63;
    }

    /// <summary>Converts meters from south to north to degrees.</summary>
    public static double LatitudeDegrees(double metres) => metres / EarthRadius / RadiansPerDegree;

    /// <summary>Converts meters from west to east at a latitude to degrees.</summary>
    public static double LongitudeDegrees(double metres, double latitude) =>
        metres / EarthRadius / Math.Cos(latitude * RadiansPerDegree) / RadiansPerDegree;
}

/// <summary>The rectangle that a cell covers, in degrees.</summary>
internal readonly record struct GeoArea(double West, double East, double South, double North);

/// <summary>
/// A cell of a grid that divides longitude and latitude in halves in turn. Each step has two bits, with the bit of the
/// latitude at the even position. Points that are close to each other usually have close bits.
/// </summary>
internal readonly record struct GeoCell(ulong Bits, int Step)
{
    /// <summary>The number of steps of the smallest cell. It has 52 bits, which a score represents exactly.</summary>
    public const int MaxStep = 26;

    private const ulong LatitudeBits = 0x5555555555555555;

    public static GeoCell Of(GeoPoint point, int step = MaxStep, double latitudeLimit = GeoPoint.LatitudeLimit)
    {
        double cells = 1UL << step;
        double latitude = (point.Latitude + latitudeLimit) / (2 * latitudeLimit) * cells;
        double longitude = (point.Longitude + GeoPoint.LongitudeLimit) / (2 * GeoPoint.LongitudeLimit) * cells;
        return new GeoCell(Spread((uint)latitude) | Spread((uint)longitude) << 1, step);
    }

    /// <summary>
    /// The scores of the members in the cell are in the range from <see cref="FirstScore"/> to before <see cref="EndScore"/>.
    /// </summary>
    public double FirstScore => Bits << (2 * (MaxStep - Step));

    public double EndScore => (Bits + 1) << (2 * (MaxStep - Step));

    public GeoArea Area
    {
        get
        {
            double cells = 1UL << Step;
            double latitude = Gather(Bits), longitude = Gather(Bits >> 1);
            const double Height = 2 * GeoPoint.LatitudeLimit, Width = 2 * GeoPoint.LongitudeLimit;
            return new GeoArea(
                -GeoPoint.LongitudeLimit + longitude / cells * Width,
                -GeoPoint.LongitudeLimit + (longitude + 1) / cells * Width,
                -GeoPoint.LatitudeLimit + latitude / cells * Height,
                -GeoPoint.LatitudeLimit + (latitude + 1) / cells * Height);
        }
    }

    public GeoPoint Center
    {
        get
        {
            GeoArea area = Area;
            return new GeoPoint(
                Math.Clamp((area.West + area.East) / 2, -GeoPoint.LongitudeLimit, GeoPoint.LongitudeLimit),
                Math.Clamp((area.South + area.North) / 2, -GeoPoint.LatitudeLimit, GeoPoint.LatitudeLimit));
        }
    }

    /// <summary>The adjacent cell in a direction. The grid wraps around at its edges.</summary>
    public GeoCell Beside(int east, int north) =>
        this with { Bits = Move(Bits & ~LatitudeBits, ~LatitudeBits, east) | Move(Bits & LatitudeBits, LatitudeBits, north) };

    /// <summary>
    /// Adds one to the bits of one direction or subtracts one. The bits of the other direction are set for this, so that a
    /// carry passes over them.
    /// </summary>
    private ulong Move(ulong bits, ulong mine, int by)
    {
        // The cell of a point on the edge is outside of the grid, and stays there if this direction does not change.
        if (by == 0) return bits;
        int unused = 64 - 2 * Step;
        ulong others = ~mine >> unused;
        if (by > 0) bits += others + 1;
        else bits = (bits | others) - (others + 1);
        return bits & mine >> unused;
    }

    private static ulong Spread(uint value)
    {
        ulong x = value;
        x = (x | x << 16) & 0x0000FFFF0000FFFF;
        x = (x | x << 8) & 0x00FF00FF00FF00FF;
        x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
        x = (x | x << 2) & 0x3333333333333333;
        return (x | x << 1) & LatitudeBits;
    }

    private static uint Gather(ulong bits)
    {
        ulong x = bits & LatitudeBits;
        x = (x | x >> 1) & 0x3333333333333333;
        x = (x | x >> 2) & 0x0F0F0F0F0F0F0F0F;
        x = (x | x >> 4) & 0x00FF00FF00FF00FF;
        x = (x | x >> 8) & 0x0000FFFF0000FFFF;
        return (uint)(x | x >> 16);
    }
}
