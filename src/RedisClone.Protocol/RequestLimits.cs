namespace RedisClone.Protocol;

/// <summary>
/// The limits of the parser. All connections share one object and read it at each parse, so a configuration change takes effect
/// at the next read.
/// </summary>
public sealed record RequestLimits
{
    /// <summary>The longest bulk string (<c>proto-max-bulk-len</c>).</summary>
    public long MaxBulkLength { get; set; } = 512L * 1024 * 1024;

    /// <summary>
    /// A bulk string up to this length gets its final buffer when it is announced. For a longer one, the announcement takes no
    /// more than this.
    /// </summary>
    public int TrustedLength { get; init; } = 1024 * 1024;

    /// <summary>The longest inline request, and the longest header line of any other request.</summary>
    public int MaxInlineLength { get; set; } = 64 * 1024;

    /// <summary>
    /// The largest number of arguments that a request may announce, as in Redis. The announcement takes no memory. The arguments
    /// take it as they arrive, so the limits of memory bound them.
    /// </summary>
    public const int MaxArguments = int.MaxValue;

    /// <summary>
    /// The limit of a turn of a connection: after this many requests or bytes, the parser stops and the rest waits.
    /// </summary>
    public int MaxBatchRequests { get; set; } = 256;

    public int MaxBatchBytes { get; set; } = 512 * 1024;

    /// <summary>The limits of a client that has not authenticated.</summary>
    public const int RestrictedArguments = 10;

    public const int RestrictedBulkLength = 16384;

    /// <summary>
    /// The limit of all arguments of a request together under any configuration, because a request lies in one array.
    /// </summary>
    public const int MaxRequestBytes = 0x7FFF_0000;
}
