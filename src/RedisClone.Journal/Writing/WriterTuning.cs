namespace RedisClone.Journal.Writing;

/// <summary>The sizes that the writer uses. Tests use small sizes, so that short runs reach every boundary.</summary>
internal sealed record WriterTuning
{
    public static WriterTuning Default { get; } = new();

    public int SegmentSize { get; init; } = 256 * 1024;

    /// <summary>The number of unused segments that are kept for reuse.</summary>
    public int KeptSegments { get; init; } = 64;

    /// <summary>
    /// Segments that are allocated when the stream begins, so that a process with a limited heap needs no memory for pending units
    /// later.
    /// </summary>
    public int FirstSegments { get; init; }

    /// <summary>
    /// Only its last unit may extend a group beyond this size, because recovery reads a whole group into memory.
    /// </summary>
    public long MaxGroup { get; init; } = 16 << 20;

    /// <summary>
    /// The first fill, the largest fill, and the largest group for which a file is filled with padding. For larger
    /// groups, writing every byte twice costs as much as the shorter flush saves.
    /// </summary>
    public long FirstFill { get; init; } = 64 * 1024;

    public long LargestFill { get; init; } = 1 << 20;

    public long LargestGroupToFill { get; init; } = 64 * 1024;

    /// <summary>
    /// A file of Redis up to this size is rewritten as a group when the stream continues. After a larger file, a new
    /// increment is opened.
    /// </summary>
    public long LargestAdopted { get; init; } = 16 << 20;

    /// <summary>The source of salts. Null means the generator of the operating system.</summary>
    public Random? Salts { get; init; }
}
