namespace RedisClone.Storage;

/// <summary>
/// Up to where collections keep their small forms: the settings of the same names. A store has one, replaced as a whole
/// when a setting changes; values convert when they are next written.
/// </summary>
public sealed record ValueLimits
{
    public static ValueLimits Default { get; } = new();

    public long HashMaxListpackEntries { get; init; } = 512;

    public long HashMaxListpackValue { get; init; } = 64;

    /// <summary>Positive: elements a block. -1 to -5: blocks of 4 to 64 KB.</summary>
    public int ListMaxListpackSize { get; init; } = -2;

    public long SetMaxIntsetEntries { get; init; } = 512;

    public long SetMaxListpackEntries { get; init; } = 128;

    public long SetMaxListpackValue { get; init; } = 64;

    public long ZsetMaxListpackEntries { get; init; } = 128;

    public long ZsetMaxListpackValue { get; init; } = 64;

    /// <summary>Bytes of a stream's block, 0 for as many as are sensible.</summary>
    public long StreamNodeMaxBytes { get; init; } = 4096;

    /// <summary>Entries of a stream's block, 0 for any number.</summary>
    public long StreamNodeMaxEntries { get; init; } = 100;

    /// <summary>No packed value grows beyond this, whatever the settings say: its length must stay far from what an int counts.</summary>
    public const int MaxPackedBytes = 1 << 28;
}
