namespace RedisClone.Journal.Writing;

/// <summary>Sizes of the writing. The tests run with small ones, so that short runs meet every boundary.</summary>
internal sealed record WriterTuning
{
    public static WriterTuning Default { get; } = new();

    public int SegmentSize { get; init; } = 256 * 1024;

    /// <summary>A group grows beyond this only by its last unit: recovery reads a group into memory.</summary>
    public long MaxGroup { get; init; } = 16 << 20;

    /// <summary>
    /// How far an increment is filled ahead, at first and at most, and for which groups: beyond some size, writing every
    /// byte twice costs what the shorter flush gains.
    /// </summary>
    public long FirstFill { get; init; } = 64 * 1024;

    public long LargestFill { get; init; } = 1 << 20;

    public long LargestGroupToFill { get; init; } = 64 * 1024;

    /// <summary>
    /// A file of Redis's up to this size is written anew, in groups, when the stream goes on in it; behind a larger one a new increment begins.
    /// </summary>
    public long LargestAdopted { get; init; } = 16 << 20;

    /// <summary>Where salts come from; null is the system's generator.</summary>
    public Random? Salts { get; init; }
}
