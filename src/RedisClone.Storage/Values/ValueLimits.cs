namespace RedisClone.Storage;

/// <summary>
/// Up to where collections keep their small forms: the settings of the same names. A store has one, replaced as a whole
/// when a setting changes; values convert when they are next written.
/// </summary>
public sealed record ValueLimits
{
    public static ValueLimits Default { get; } = new();

    public int HashMaxListpackEntries { get; init; } = 512;

    public int HashMaxListpackValue { get; init; } = 64;

    /// <summary>Positive: elements a block. -1 to -5: blocks of 4 to 64 KB.</summary>
    public int ListMaxListpackSize { get; init; } = -2;

    public int SetMaxIntsetEntries { get; init; } = 512;

    public int SetMaxListpackEntries { get; init; } = 128;

    public int SetMaxListpackValue { get; init; } = 64;

    public int ZsetMaxListpackEntries { get; init; } = 128;

    public int ZsetMaxListpackValue { get; init; } = 64;

    /// <summary>No packed value grows beyond this, whatever the settings say: its length must stay far from what an int counts.</summary>
    public const int MaxPackedBytes = 1 << 28;
}
