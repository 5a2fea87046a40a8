using RedisClone.Engine.Shards;
using RedisClone.Memory;

namespace RedisClone.Engine;

/// <summary>All fixed limits of the server. Limits that a user can set are in the configuration.</summary>
internal static class Limits
{
    /// <summary>Mailbox items that a worker runs before it releases the shard.</summary>
    public const int ShardTurn = 256;

    /// <summary>
    /// The longest pause of a thread that waits in place for a busy shard, in turns of <see cref="Thread.SpinWait"/>. All pauses together take
    /// about two microseconds, which is longer than most scripts take. A hop to a worker costs several times as much.
    /// </summary>
    public const int LongestPause = 32;

    /// <summary>Waits for a busy shard in which a command that needs several shards holds none of the others.</summary>
    public const int WaitsWithoutShards = 3;

    /// <summary>How long the commands of one batch may keep a shard on a worker before the next of them lets other work go first.</summary>
    public static readonly TimeSpan HeldTurn = TimeSpan.FromMicroseconds(100);

    /// <summary>One turn in this many prefers patient work, which otherwise comes after all other work of a shard.</summary>
    public const int WorkPerPatientWork = 8;

    /// <summary>Requests of one connection that its loop executes before it serves another connection.</summary>
    public const int BatchRequests = 512;

    /// <summary>
    /// Batches of at most this many requests run together with those of other connections. A longer batch fills the nearest
    /// cache by itself. It runs after the short ones if there is more work than one round or one shard can do at once.
    /// </summary>
    public const int GatheredBatch = 4;

    /// <summary>Values with more elements or bytes than this are not walked on an I/O thread.</summary>
    public const int InlineWork = 4096;

    /// <summary>Scripts that usually take longer than this do not run on an I/O thread.</summary>
    public static readonly TimeSpan InlineScript = TimeSpan.FromMilliseconds(2);

    /// <summary>The maximum length in bytes of a function name or a library name.</summary>
    public const int FunctionName = 512;

    /// <summary>Cached scripts that were sent only by EVAL.</summary>
    public const int PassingScripts = 500;

    /// <summary>Such scripts while little of a heap with a limit is left.</summary>
    public const int PassingScriptsInLittleMemory = 32;

    /// <summary>
    /// Bytes of a cached script or a function beside its source and what the interpreter counts: measured with 50,000 scripts.
    /// </summary>
    public const int BytesPerRoutine = 384;

    /// <summary>Bytes that cached scripts and libraries may keep of a heap with a limit: a quarter.</summary>
    public static readonly long KeptScriptMemory = HeapLimit.Part(4, ScriptMemory);

    /// <summary>
    /// Bytes that scripts may use, compiled forms included. The limit is also at most half of the memory available to the
    /// runtime.
    /// </summary>
    public const long ScriptMemory = 1L << 30;

    /// <summary>
    /// Bytes that a script which runs beside others may use without those that these scripts share: a 64th of a heap with a limit.
    /// </summary>
    public static readonly long OwnScriptMemory = HeapLimit.Part(64, 16 << 20);

    /// <summary>The number of scripts that run beside others and have <see cref="OwnScriptMemory"/>: an eighth of a heap with a limit.</summary>
    public const int ScriptsWithOwnMemory = 8;

    /// <summary>
    /// Bytes of the effects of one transaction or script, which are stored in one array. The effects of a single command always
    /// fit, with room for the effects of keys that expire during the command.
    /// </summary>
    public const long UnitBytes = 2_000_000_000;

    /// <summary>
    /// Bytes that a script may always use in a heap with a limit: a 16th. It may use more if data and clients leave it.
    /// </summary>
    public static readonly long LeastScriptMemory = HeapLimit.Part(16, ScriptMemory);

    /// <summary>
    /// Bytes of the stream that a replica may not have received, whatever client-output-buffer-limit says: a 16th of a heap with a
    /// limit.
    /// </summary>
    public static readonly long ReplicaBacklog = HeapLimit.Part(16, long.MaxValue);

    /// <summary>Bytes of the snapshot or the stream that are written for a replica at once.</summary>
    public static readonly int ReplicaPart = HeapLimit.IsSmall ? 64 * 1024 : UnflushedReplies;

    /// <summary>
    /// Bytes that a replica may leave unread before the next part is written. In a small heap, one part at a time waits for a replica.
    /// </summary>
    public static readonly long ReplicaUnread = HeapLimit.IsSmall ? 0 : 256 * 1024;

    /// <summary>The most memory that the output of one replica takes beside the stream: a part in arrays of twice its size.</summary>
    public static readonly int BytesPerReplica = 2 * (ReplicaPart + (int)ReplicaUnread);

    /// <summary>
    /// Bytes by which a snapshot that replicas are sent while it is taken is ahead of the fastest of them: a 64th of a heap with a limit.
    /// </summary>
    public static readonly long SnapshotLead = HeapLimit.Part(64, 8 << 20);

    /// <summary>
    /// The number of shards that <c>shards 0</c> exceeds never: one for each 16 MB of a heap with a limit. A chunk of memory belongs
    /// to one shard, so many shards with little data would waste much of a small heap.
    /// </summary>
    public static readonly int MostShards = (int)HeapLimit.Part(16 << 20, ShardSet.MaxShards);

    /// <summary>Bytes reserved for handling a failed allocation.</summary>
    public const int FailureReserve = 8 << 20;

    /// <summary>Bytes reserved for the log of a fatal end.</summary>
    public const int FatalReserve = 256 << 10;

    /// <summary>Transactions of more commands than this do not run on an I/O thread.</summary>
    public const int InlineTransaction = 128;

    /// <summary>Bytes that a fast loop walks in the time of one unit of <see cref="InlineWork"/>.</summary>
    public const int BytesPerWork = 16;

    /// <summary>The longest string value, regardless of proto-max-bulk-len: key and value share one array.</summary>
    public const long MaxValueBytes = 1L << 30;

    /// <summary>Arguments of a command whose key positions fit on the stack.</summary>
    public const int StackKeys = 64;

    /// <summary>
    /// Elements that one command returns with repetitions (a negative count). The limit bounds the reply and the time that the
    /// command holds its shard.
    /// </summary>
    public const long ReplyElements = 1 << 22;

    /// <summary>
    /// A client that uses less memory than this is not disconnected when the heap is full, unless all clients together use more
    /// than half of their part of the heap.
    /// </summary>
    public const long MuchForAClient = 64 << 10;

    /// <summary>
    /// Memory cost of a connection that has sent one request and waits: pipes, parser, batch, reply writer, session, and the
    /// objects of Kestrel. It was measured with thousands of connections.
    /// </summary>
    public const int BytesPerConnection = 8 << 10;

    /// <summary>The same of a connection with TLS, from the start of its handshake on.</summary>
    public const int BytesPerTlsConnection = 24 << 10;

    /// <summary>
    /// The parts of a heap with a limit that Kestrel's sockets may take for the input that one connection has not read yet, a 2048th, and
    /// for its output, a 4096th.
    /// </summary>
    public const int SocketReadPart = 2048, SocketWritePart = 4096;

    /// <summary>Memory of a connection of Kestrel while its client does not take the output: the pipe of the socket, and what TLS encrypts.</summary>
    public const int SocketOutput = 64 << 10;

    /// <summary>Connections up to this number are accepted while memory is short.</summary>
    public const int ConnectionsWithoutReserve = 8;

    /// <summary>
    /// Bytes that must be free for the reply of a write command before the command runs: enough for a number or a status.
    /// </summary>
    public const int ShortReply = 64;

    /// <summary>Bytes of replies after which a batch waits until the client receives them.</summary>
    public const int UnflushedReplies = 512 * 1024;

    /// <summary>
    /// Bytes of values that wait for the targets of MIGRATE, 256 MB or an eighth of a heap with a limit. From there on, further MIGRATE
    /// commands are refused.
    /// </summary>
    public static readonly long MigratedBytes = HeapLimit.Part(8, 256 << 20);

    /// <summary>
    /// The memory of clients counts output that is not flushed each time when it has grown by this many bytes. The connection may wait
    /// long for a shard before it can flush.
    /// </summary>
    public const int NoticedOutput = 16 * 1024;

    /// <summary>Bytes of unsent replies for a client whose class has no limit.</summary>
    public const long ReplyBytes = 1L << 32;

    /// <summary>
    /// Bytes of replies that do not count against a client's output limit, so that even a very small limit leaves room for an
    /// error reply.
    /// </summary>
    public const int UncountedOutput = 8 * 1024;

    /// <summary>Bytes of an announced argument for which there is room before it arrives.</summary>
    public const int TrustedLength = 1024 * 1024;

    /// <summary>In a small heap, the room for an announced argument is this part of the heap: a 2048th.</summary>
    public const int TrustedPart = 2048;

    /// <summary>In a heap with a limit, arrays of requests up to this part of the heap are pooled: a 1024th.</summary>
    public const int PooledPart = 1024;

    /// <summary>Bytes of an incomplete request from a client that has not authenticated.</summary>
    public const int UnauthenticatedQuery = 1024 * 1024;

    /// <summary>Bytes of replies that a client leaves unread before it has authenticated.</summary>
    public const int UnauthenticatedOutput = 1024 * 1024;

    /// <summary>Milliseconds for which a client that has ended its requests may leave its last replies unread.</summary>
    public const int LastReplyPatience = 60_000;

    /// <summary>
    /// Memory cost of a watched key or a subscription, in addition to its name: two arrays, and entries in tables of the session
    /// and of the shard or channel.
    /// </summary>
    public const int BytesPerName = 256;

    /// <summary>
    /// Memory cost of a key that a blocked client waits for, in addition to its name: a queue and a table entry.
    /// </summary>
    public const int BytesOfWait = 256;

    /// <summary>Memory cost of a tracked prefix, including its entries in the prefix tables.</summary>
    public const int BytesPerPrefix = 256;

    /// <summary>Simultaneous connections to the metrics port. Further connections are closed.</summary>
    public const int MetricsConnections = 32;

    /// <summary>
    /// Time after which an idle connection to the metrics port, or one with an incomplete request, is closed.
    /// </summary>
    public static readonly TimeSpan MetricsPatience = TimeSpan.FromSeconds(5);

    /// <summary>Bytes of the first line of an HTTP request, of all its headers, and the number of these.</summary>
    public const int HttpLine = 4096, HttpHeaders = 16 << 10, HttpHeaderCount = 64;

    /// <summary>Characters of one text in the log. Longer texts are truncated.</summary>
    public const int LogText = 4096;

    /// <summary>Bytes of log lines that may wait for the log thread. Further lines are dropped and counted.</summary>
    public const int LogBacklog = 1 << 20;

    /// <summary>Time that a process that ends waits for its log to be written.</summary>
    public static readonly TimeSpan LogDrain = TimeSpan.FromMilliseconds(500);

    /// <summary>Bytes that a pipe accepts in one write when poll(2) reports it as writable (PIPE_BUF on Linux).</summary>
    public const int PipeAtom = 4096;

    /// <summary>Bytes of the last log line before a fatal end. A longer line is truncated.</summary>
    public const int FatalLine = 2048;

    /// <summary>Milliseconds that a fatal end waits for space in a full pipe at standard output or standard error.</summary>
    public const int FatalPatience = 200;

    /// <summary>Seconds after which the kernel ends a process whose fatal end hangs, for example in a file system.</summary>
    public const int FatalAlarm = 5;

    /// <summary>The maximum length in bytes of the host name or address that a replica announces.</summary>
    public const int HostName = 255;

    /// <summary>Time that an export of the figures may take.</summary>
    public static readonly TimeSpan OtlpPatience = TimeSpan.FromSeconds(10);

    /// <summary>Time that a health check waits for the server.</summary>
    public static readonly TimeSpan HealthPatience = TimeSpan.FromSeconds(3);

    /// <summary>TLS handshakes that may be in progress at the same time. A further one ends the oldest.</summary>
    public const int TlsHandshakes = 512;

    /// <summary>Time limit of one TLS handshake.</summary>
    public static readonly TimeSpan TlsHandshakePatience = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Bytes that may wait to be written to the journal before write commands wait for the disk: at most a 32nd of a heap with a
    /// limit.
    /// </summary>
    public static readonly long JournalBacklog = HeapLimit.Part(32, 64 << 20);

    /// <summary>Interval at which a command that waits for the disk checks again.</summary>
    public static readonly TimeSpan DiskPatience = TimeSpan.FromMilliseconds(1);

    /// <summary>Time that a command that inspects all clients waits until the data they have sent is received.</summary>
    public static readonly TimeSpan ArrivalPatience = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// Time that clients have to receive their output during shutdown. The event loop disconnects clients that make no progress
    /// earlier.
    /// </summary>
    public static readonly TimeSpan ShutdownPatience = TimeSpan.FromSeconds(3);

    /// <summary>
    /// Growth of the clients' memory in bytes after which used memory is compared with maxmemory at once.
    /// </summary>
    public const int NoticedGrowth = 64 * 1024;

    /// <summary>Bytes of garbage that are left to the collector's own schedule.</summary>
    public const long Garbage = 32 << 20;

    /// <summary>Prefixes that one client may track in broadcast mode: each write is compared with all of them.</summary>
    public const int TrackingPrefixes = 1024;

    /// <summary>Bytes of the file that keeps the role of the server.</summary>
    public const int RoleFile = 4096;

    /// <summary>Lists of field names that one connection may prepare for HIMPORT.</summary>
    public const int Fieldsets = 1024;
}
