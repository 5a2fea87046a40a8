namespace RedisClone.Server.Commands;

/// <summary>Where a search looks: a circle or a box around a point, its measures in a unit of so many metres.</summary>
internal struct GeoShape
{
    /// <summary>The most cells that a shape can touch.</summary>
    public const int MaxCells = 9;

    private const double MercatorLimit = 20037726.37;

    public GeoPoint Center { get; set; }

    public double Unit { get; set; }

    public bool IsBox { get; set; }

    public double Radius { get; set; }

    public double Width { get; set; }

    public double Height { get; set; }

    /// <summary>Whether a point lies within, and its distance from the centre in metres.</summary>
    public readonly bool Contains(GeoPoint point, out double distance)
    {
        distance = 0;
        if (!IsBox)
        {
            distance = Center.DistanceTo(point);
            return distance <= Radius * Unit;
        }
        if (point.LatitudeDistanceTo(Center) > Height * Unit / 2) return false;
        if (point.DistanceTo(Center with { Latitude = point.Latitude }) > Width * Unit / 2) return false;
        distance = Center.DistanceTo(point);
        return true;
    }

    /// <summary>The cells that cover the shape, in the order in which Redis looks at them; how many there are.</summary>
    public readonly int Cells(Span<GeoCell> cells)
    {
        GeoArea bounds = Bounds();
        double reach = (IsBox ? Math.Sqrt(Width / 2 * (Width / 2) + Height / 2 * (Height / 2)) : Radius) * Unit;
        int step = StepFor(reach);
        GeoCell middle = GeoCell.Of(Center, step);
        if (step > 1 && !NeighborsCover(middle, bounds)) middle = GeoCell.Of(Center, --step);

        GeoArea area = middle.Area;
        bool all = step < 2;
        bool south = all || area.South >= bounds.South, north = all || area.North <= bounds.North;
        bool west = all || area.West >= bounds.West, east = all || area.East <= bounds.East;
        int count = 0;
        Add(cells, ref count, middle);
        if (north) Add(cells, ref count, middle.Beside(0, 1));
        if (south) Add(cells, ref count, middle.Beside(0, -1));
        if (east) Add(cells, ref count, middle.Beside(1, 0));
        if (west) Add(cells, ref count, middle.Beside(-1, 0));
        if (north && east) Add(cells, ref count, middle.Beside(1, 1));
        if (north && west) Add(cells, ref count, middle.Beside(-1, 1));
        if (south && east) Add(cells, ref count, middle.Beside(1, -1));
        if (south && west) Add(cells, ref count, middle.Beside(-1, -1));
        return count;
    }

    /// <summary>Where the grid is coarse, neighbours on both sides are the same cell: one that was just looked at is not looked at again.</summary>
    private static void Add(Span<GeoCell> cells, ref int count, GeoCell cell)
    {
        // The middle itself may come up again, as in Redis, which compares only with what came after it.
        if (count > 1 && cells[count - 1] == cell) return;
        cells[count++] = cell;
    }

    private readonly GeoArea Bounds()
    {
        double height = Unit * (IsBox ? Height / 2 : Radius), width = Unit * (IsBox ? Width / 2 : Radius);
        double north = GeoPoint.LatitudeDegrees(height);
        // The side that is nearer to a pole is the wider one in degrees… as Redis takes it.
        double at = Center.Latitude < 0 ? Center.Latitude - north : Center.Latitude + north;
        double east = GeoPoint.LongitudeDegrees(width, at);
        return new GeoArea(Center.Longitude - east, Center.Longitude + east, Center.Latitude - north, Center.Latitude + north);
    }

    private readonly int StepFor(double metres)
    {
        if (metres == 0) return GeoCell.MaxStep;
        int step = 1;
        for (; metres < MercatorLimit; metres *= 2) step++;
        step -= 2;
        // Cells are narrow near the poles.
        double latitude = Math.Abs(Center.Latitude);
        if (latitude > 66) step--;
        if (latitude > 80) step--;
        return Math.Clamp(step, 1, GeoCell.MaxStep);
    }

    private static bool NeighborsCover(GeoCell middle, GeoArea bounds) =>
        middle.Beside(0, 1).Area.North >= bounds.North
        && middle.Beside(0, -1).Area.South <= bounds.South
        && middle.Beside(1, 0).Area.East >= bounds.East
        && middle.Beside(-1, 0).Area.West <= bounds.West;
}
