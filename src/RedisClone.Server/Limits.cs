namespace RedisClone.Server;

/// <summary>Every fixed limit of the server, in one place; what users can set is in the configuration.</summary>
internal static class Limits
{
    /// <summary>Mailbox items that a worker runs before it lets others have the shard.</summary>
    public const int ShardTurn = 256;

    /// <summary>Of so many mailbox items, one at least is of those that wait behind others.</summary>
    public const int ImpatientWork = 8;

    /// <summary>Requests of one connection executed before its loop serves another.</summary>
    public const int BatchRequests = 512;

    /// <summary>
    /// Batches up to this many requests run together with those of other connections; a longer one fills the nearest cache by itself, and waits behind
    /// them where there is more to do than one round or one shard can do at once.
    /// </summary>
    public const int GatheredBatch = 4;

    /// <summary>Values above this many elements or bytes are not walked on an I/O thread.</summary>
    public const int InlineWork = 4096;

    /// <summary>Scripts that usually take longer are not run on an I/O thread.</summary>
    public static readonly TimeSpan InlineScript = TimeSpan.FromMilliseconds(2);

    /// <summary>Bytes of the name of a function or a library.</summary>
    public const int FunctionName = 512;

    /// <summary>Scripts kept that were only sent by EVAL.</summary>
    public const int PassingScripts = 500;

    /// <summary>Bytes that scripts may take, compiled forms included; at most half of what the runtime may take.</summary>
    public const long ScriptMemory = 1L << 30;

    /// <summary>Bytes of the effects of one transaction or script, which lie in one array. A single command's do, and there is room for what expires meanwhile.</summary>
    public const long UnitBytes = 2_000_000_000;

    /// <summary>Bytes set aside for the time when an allocation has failed.</summary>
    public const int FailureReserve = 8 << 20;

    /// <summary>Transactions of more commands are not run on an I/O thread.</summary>
    public const int InlineTransaction = 128;

    /// <summary>Bytes that a fast loop walks in the time that <see cref="InlineWork"/> counts as one.</summary>
    public const int BytesPerWork = 16;

    /// <summary>The longest string value, whatever proto-max-bulk-len says: key and value share one array.</summary>
    public const long MaxValueBytes = 1L << 30;

    /// <summary>Arguments of a command whose key positions fit on the stack.</summary>
    public const int StackKeys = 64;

    /// <summary>Elements that one command returns with repetitions (a negative count): its shard is held, and its reply grows, for no longer than that.</summary>
    public const long ReplyElements = 1 << 22;

    /// <summary>A client that holds less is not disconnected when the heap is full.</summary>
    public const long MuchForAClient = 64 << 10;

    /// <summary>Bytes that the reply of a write command finds room for before the command runs: a number or a status.</summary>
    public const int ShortReply = 64;

    /// <summary>Bytes of replies after which a batch waits for the client to take them.</summary>
    public const int UnflushedReplies = 512 * 1024;

    /// <summary>Bytes of replies that may wait for a client whose class has no limit.</summary>
    public const long ReplyBytes = 1L << 32;

    /// <summary>Bytes of replies that do not count against a client's output limit: however small that is, it can be told so.</summary>
    public const int UncountedOutput = 8 * 1024;

    /// <summary>Bytes that a client which has not authenticated may leave half sent.</summary>
    public const int UnauthenticatedQuery = 1024 * 1024;

    /// <summary>What a watched key or a subscription costs beside its name.</summary>
    public const int BytesPerName = 64;

    /// <summary>What a key that a blocked client waits for takes besides its name: a queue and its place in a table.</summary>
    public const int BytesOfWait = 256;

    /// <summary>What a prefix that is tracked costs, its place in the tables of prefixes included.</summary>
    public const int BytesPerPrefix = 256;

    /// <summary>Connections to the metrics port at a time; further ones are closed.</summary>
    public const int MetricsConnections = 32;

    /// <summary>How long a connection to the metrics port may say nothing, or half a request.</summary>
    public static readonly TimeSpan MetricsPatience = TimeSpan.FromSeconds(5);

    /// <summary>Characters of one text in the log; the rest is cut off.</summary>
    public const int LogText = 4096;

    /// <summary>
    /// Bytes of the log that may wait for the thread that writes them; lines beyond it are dropped and counted.
    /// </summary>
    public const int LogBacklog = 1 << 20;

    /// <summary>How long an ending process waits for the rest of its log to be written.</summary>
    public static readonly TimeSpan LogDrain = TimeSpan.FromMilliseconds(500);

    /// <summary>Bytes that a pipe takes at once when poll(2) reports it as writable (PIPE_BUF of Linux).</summary>
    public const int PipeAtom = 4096;

    /// <summary>Bytes of the last line before a fatal end; the rest is cut off.</summary>
    public const int FatalLine = 2048;

    /// <summary>Milliseconds that a fatal end waits for room in a full pipe behind standard output or standard error.</summary>
    public const int FatalPatience = 200;

    /// <summary>Seconds after which a fatal end that hangs, in a file system for example, is ended by the kernel.</summary>
    public const int FatalAlarm = 5;

    /// <summary>Bytes of a host's name or address that a replica may give.</summary>
    public const int HostName = 255;

    /// <summary>How long a health check waits for the server.</summary>
    public static readonly TimeSpan HealthPatience = TimeSpan.FromSeconds(3);

    /// <summary>TLS handshakes that may be under way at a time; further connections are refused.</summary>
    public const int TlsHandshakes = 512;

    /// <summary>How long one of them may take.</summary>
    public static readonly TimeSpan TlsHandshakePatience = TimeSpan.FromSeconds(10);

    /// <summary>Bytes that may wait to be written to the journal before commands that write wait for the disk.</summary>
    public const long JournalBacklog = 64 << 20;

    /// <summary>What a command that waits for the disk gives it before it looks again.</summary>
    public static readonly TimeSpan DiskPatience = TimeSpan.FromMilliseconds(1);

    /// <summary>How long a command that looks at all clients waits until everything they have sent is received.</summary>
    public static readonly TimeSpan ArrivalPatience = TimeSpan.FromMilliseconds(100);

    /// <summary>The time that a stopping server gives clients to receive their output. The event loop disconnects clients that receive nothing sooner.</summary>
    public static readonly TimeSpan ShutdownPatience = TimeSpan.FromSeconds(3);

    /// <summary>Bytes by which one command may outgrow maxmemory without being noticed before the next that asks for more.</summary>
    public const int NoticedGrowth = 64 * 1024;

    /// <summary>Bytes of garbage that may wait for the collector to look by itself.</summary>
    public const long Garbage = 32 << 20;

    /// <summary>Prefixes that one client may have broadcast to it: each write is compared with all.</summary>
    public const int TrackingPrefixes = 1024;

    /// <summary>Lists of field names that one connection may prepare for HIMPORT.</summary>
    public const int Fieldsets = 1024;
}
