namespace RedisClone.Storage.Values;

/// <summary>
/// The limits up to which collections keep their small forms; they are the settings of the same names. A store has one instance,
/// which is replaced as a whole when a setting changes. An existing value is converted at its next write.
/// </summary>
public sealed record ValueLimits
{
    public static ValueLimits Default { get; } = new();

    public long HashMaxListpackEntries { get; init; } = 512;

    public long HashMaxListpackValue { get; init; } = 64;

    /// <summary>Positive: elements per block. -1 to -5: blocks of 4 to 64 KB.</summary>
    public int ListMaxListpackSize { get; init; } = -2;

    public long SetMaxIntsetEntries { get; init; } = 512;

    public long SetMaxListpackEntries { get; init; } = 128;

    public long SetMaxListpackValue { get; init; } = 64;

    public long ZsetMaxListpackEntries { get; init; } = 128;

    public long ZsetMaxListpackValue { get; init; } = 64;

    /// <summary>Bytes of a stream block, 0 for a built-in limit.</summary>
    public long StreamNodeMaxBytes { get; init; } = 4096;

    /// <summary>Entries of a stream block, 0 for no limit.</summary>
    public long StreamNodeMaxEntries { get; init; } = 100;

    /// <summary>The largest packed value under any settings. It keeps lengths far below the range of an int.</summary>
    public const int MaxPackedBytes = 1 << 28;
}
