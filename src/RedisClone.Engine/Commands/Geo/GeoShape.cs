namespace RedisClone.Engine.Commands.Geo;

/// <summary>
/// The area of a search: a circle or a box around a point. Its dimensions are in <see cref="Unit"/> meters.
/// </summary>
internal struct GeoShape
{
    /// <summary>The greatest number of cells that cover a shape.</summary>
    public const int MaxCells = 9;

    private const double MercatorLimit = 20037726.37;

    public GeoPoint Center { get; set; }

    public double Unit { get; set; }

    public bool IsBox { get; set; }

    public double Radius { get; set; }

    public double Width { get; set; }

    public double Height { get; set; }

    /// <summary>Whether a point is within the shape, and its distance from the center in meters.</summary>
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

    /// <summary>
    /// Finds the cells that cover the shape, in the order in which Redis visits them, and returns their number.
    /// </summary>
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

    /// <summary>
    /// Adds a cell, unless it equals the one before it: in a coarse grid, the neighbors on both sides can be the same cell.
    /// </summary>
    private static void Add(Span<GeoCell> cells, ref int count, GeoCell cell)
    {
        // As in Redis, the comparison excludes the middle cell, so that cell can occur twice.
        if (count > 1 && cells[count - 1] == cell) return;
        cells[count++] = cell;
    }

    private readonly GeoArea Bounds()
    {
        double height = Unit * (IsBox ? Height / 2 : Radius), width = Unit * (IsBox ? Width / 2 : Radius);
        double north = GeoPoint.LatitudeDegrees(height);
        // As in Redis, the longitudes are computed at the side that is nearer to a pole, where they span more degrees.
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
