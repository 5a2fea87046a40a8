namespace RedisClone.Protocol;

/// <summary>
/// What a client may ask of the parser. One object is shared by all connections and read at each parse, so a
/// configuration change takes effect with the next read.
/// </summary>
public sealed record RequestLimits
{
    /// <summary>The longest bulk string (<c>proto-max-bulk-len</c>).</summary>
    public long MaxBulkLength { get; set; } = 512L * 1024 * 1024;

    /// <summary>The longest inline request, and the longest header line of any other.</summary>
    public int MaxInlineLength { get; set; } = 64 * 1024;

    public int MaxArguments { get; set; } = 1024 * 1024;

    /// <summary>A connection's turn: after so many requests or bytes the parser stops and the rest waits.</summary>
    public int MaxBatchRequests { get; set; } = 256;

    public int MaxBatchBytes { get; set; } = 512 * 1024;

    /// <summary>What a client that has not authenticated may announce.</summary>
    public const int RestrictedArguments = 10;

    public const int RestrictedBulkLength = 16384;

    /// <summary>
    /// A request lives in one array, so its arguments together cannot be longer than this, whatever the configuration says.
    /// </summary>
    public const int MaxRequestBytes = 0x7FFF_0000;
}
