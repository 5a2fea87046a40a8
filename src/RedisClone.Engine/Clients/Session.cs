using RedisClone.Configuration;
using RedisClone.Engine.Acl;
using RedisClone.Engine.Caching;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Migrating;
using RedisClone.Engine.Pubsub;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Scripting;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Clients;

/// <summary>The modes of CLIENT REPLY.</summary>
internal enum ReplyMode : byte
{
    On,
    Off,

    /// <summary>The reply to the next command is dropped too.</summary>
    SkipNext,

    /// <summary>The reply to the current command is dropped.</summary>
    Skip,
}

/// <summary>
/// The state of one client: everything that its commands may change and that CLIENT LIST shows. The thread that runs the
/// client's command owns it; other threads only read it. Scripts, transactions and journal replays have a session too, without a
/// connection.
/// </summary>
internal sealed class Session(ServerCore server, long id, ReplyWriter reply)
{
    /// <summary>The value of <see cref="CountedMemory"/> of a client that is gone.</summary>
    internal const long Gone = -1;

    /// <summary>Names up to this length count as a part of the connection.</summary>
    private const int ShortText = 64;

    private HashSet<byte[]>[]? _subscriptions;
    private string _name = "", _libraryName = "", _libraryVersion = "";
    private long _heldBytes;

    public ServerCore Server => server;

    public long Id => id;

    public ReplyWriter Reply { get; } = reply;

    /// <summary>The client's connection; null for sessions of the server itself.</summary>
    public IClientConnection? Connection { get; init; }

    public int Database { get; set; }

    public bool Authenticated { get; set; }

    /// <summary>
    /// Whether the client must authenticate first. Until then, its requests are limited in size and its other commands are
    /// refused.
    /// </summary>
    public bool MustAuthenticate => !Authenticated && server.Access.Users.MustAuthenticate;

    /// <summary>The user whose permissions apply.</summary>
    public User User { get; set; } = server.Access.Users.Default;

    public string Name
    {
        get => _name;
        set => SetText(ref _name, value);
    }

    public string LibraryName
    {
        get => _libraryName;
        set => SetText(ref _libraryName, value);
    }

    public string LibraryVersion
    {
        get => _libraryVersion;
        set => SetText(ref _libraryVersion, value);
    }

    /// <summary>The client's address.</summary>
    public string PeerName { get; init; } = "?:0";

    /// <summary>The server's address of the connection.</summary>
    public string LocalName { get; init; } = "?:0";

    /// <summary>
    /// Whether the client is on this machine. Some configuration settings allow commands to local clients only.
    /// </summary>
    public bool IsLocal { get; init; } = true;

    public bool IsUnixSocket { get; init; }

    public ReplyMode ReplyMode { get; private set; }

    /// <summary>Whether replies are dropped. Messages are still sent.</summary>
    public bool IsMuted => ReplyMode is ReplyMode.Off or ReplyMode.Skip;

    public bool NoTouch { get; set; }

    /// <summary>Whether the client reads from a replica of a cluster (READONLY).</summary>
    public bool ReadsReplica { get; set; }

    /// <summary>The number of the client's command that was ASKING. It has an effect on the next command, or transaction, only.</summary>
    public long AskedAt { get; set; } = -1;

    /// <summary>Whether the command of the client before this one, or before this transaction, was ASKING.</summary>
    public bool IsAsking => CommandsProcessed == AskedAt + 1 || Transaction is { IsAsking: true };

    public bool NoEvict { get; set; }

    /// <summary>Set while the client uses client-side caching. The commands of a script have their caller's.</summary>
    public ClientTracking? Tracking { get; set; }

    /// <summary>The field lists that HIMPORT PREPARE defined, or null.</summary>
    public Fieldsets? Fieldsets { get; set; }

    /// <summary>The commands queued since MULTI; null outside.</summary>
    public Transaction? Transaction { get; set; }

    /// <summary>The watched keys and their shards.</summary>
    public List<(Shard Shard, DatabaseKey Key)> Watched { get; } = [];

    /// <summary>Whether commands run as part of a transaction or a script, where no command may block.</summary>
    public bool InTransaction { get; set; }

    /// <summary>Whether the commands of scripts run in this session.</summary>
    public bool IsScript => Interpreter is not null;

    /// <summary>The interpreter of a session in which the commands of scripts run; otherwise null.</summary>
    public Interpreter? Interpreter { get; init; }

    /// <summary>Whether the session replays effects. Effects may include commands that clients may not send.</summary>
    public bool IsReplay { get; init; }

    /// <summary>
    /// Whether the session replays a base that this server wrote. It may name pending entries whose stream entries were deleted.
    /// </summary>
    public bool IsBase { get; set; }

    /// <summary>Whether the session applies the stream of this server's primary. No expired key is hidden from it.</summary>
    public bool IsPrimary { get; init; }

    /// <summary>A watched key was changed, so the next EXEC replies null. Set by the thread that changes the key.</summary>
    public bool WatchedKeyChanged { get; set; }

    /// <summary>The highest LSN that the client's replies depend on.</summary>
    public long SeenLsn { get; set; }

    /// <summary>The LSN of the last effects of the client's own commands.</summary>
    public long WroteLsn { get; set; }

    /// <summary>Set while the client is blocked.</summary>
    public Waiter? Waiter { get; set; }

    /// <summary>The connection closes after the reply is sent.</summary>
    public bool CloseAfterReply { get; set; }

    /// <summary>
    /// The number of all subscriptions. If it is above zero, a RESP2 client may only use the Pub/Sub commands, PING, QUIT and
    /// RESET.
    /// </summary>
    public int Subscriptions => _subscriptions is null ? 0 : _subscriptions[0].Count + _subscriptions[1].Count + _subscriptions[2].Count;

    /// <summary>The state of the client as a replica; null for other clients.</summary>
    internal Replica? Replica { get; set; }

    /// <summary>Whether the client receives the stream of effects or the snapshot before it.</summary>
    public bool IsReplica => Replica is { State: > ReplicaState.Introduced };

    /// <summary>Whether the client is suspended until CLIENT PAUSE is over.</summary>
    public bool IsPaused { get; set; }

    /// <summary>Whether MONITOR clients have seen the command that runs.</summary>
    public bool IsShown { get; set; }

    /// <summary>The class that selects the output limits of the configuration.</summary>
    public ClientClass Class => IsReplica ? ClientClass.Replica : Subscriptions > 0 ? ClientClass.PubSub : ClientClass.Normal;

    public long CreatedAt { get; init; } = ServerCore.UnixMilliseconds();

    public long LastInteraction { get; set; }

    /// <summary>The bytes of output that were not sent when idle clients were last looked for.</summary>
    public long UnsentBefore { get; set; }

    /// <summary>The last command that was run, or that the client is blocked in.</summary>
    public CommandRow? LastCommand { get; set; }

    public long CommandsProcessed { get; set; }

    public long NetInput { get; set; }

    public long NetOutput { get; set; }

    /// <summary>
    /// Bytes of the keys that the client watches or waits for, or transfers to another server, of the channels that it listens to, and of
    /// its name.
    /// </summary>
    public long HeldBytes
    {
        get => _heldBytes;
        set
        {
            server.ClientMemory.HeldChanged(value - _heldBytes);
            _heldBytes = value;
        }
    }

    /// <summary>
    /// The bytes of this client in the sum of <see cref="ClientMemory"/>, or <see cref="Gone"/>. Like the next two fields, it is
    /// changed only by an atomic exchange.
    /// </summary>
    internal long CountedMemory;

    /// <summary>The part of <see cref="CountedMemory"/> that a disconnected client has not released yet.</summary>
    internal long LeavingMemory;

    /// <summary>The bytes of this client in the sum of the clients that have not authenticated.</summary>
    internal long StrangerMemory;

    /// <summary>Watches a key of the current database. The caller holds the key's shard.</summary>
    public void Watch(Shard shard, ReadOnlySpan<byte> key, bool expired)
    {
        // Memory is allocated before the shard knows of the watch, because Unwatch relies on this list.
        var watched = new DatabaseKey(Database, key.ToArray());
        Watched.EnsureCapacity(Watched.Count + 1);
        if (!shard.Keys.AddWatch(this, Database, key, expired)) return;
        Watched.Add((shard, watched));
        HeldBytes += key.Length + Limits.BytesPerName;
    }

    /// <summary>Ends the transaction and forgets the watched keys. The caller holds their shards.</summary>
    public void EndTransaction()
    {
        Transaction?.Release();
        Transaction = null;
        Unwatch();
    }

    /// <summary>Forgets all watched keys. The caller holds their shards.</summary>
    public void Unwatch()
    {
        foreach ((Shard shard, DatabaseKey key) in Watched)
        {
            shard.Keys.Unwatch(this, key.Database, key.Key);
            HeldBytes -= key.Key.Length + Limits.BytesPerName;
        }
        Watched.Clear();
        WatchedKeyChanged = false;
    }

    /// <summary>The transfer of the MIGRATE that the client waits for, or null.</summary>
    internal Migration? Migration
    {
        get;
        set
        {
            long counted = field?.CountedBytes ?? 0;
            // The count may need memory, so it comes first.
            long held = value?.Count() ?? 0;
            if (field is null && value is not null) server.MigrationLinks.Begun(value);
            else if (field is not null && value is null) server.MigrationLinks.Ended(field);
            HeldBytes += held - counted;
            field = value;
        }
    }

    /// <summary>
    /// Whether messages may be on their way that the client does not expect any more, or not in this form; see <see cref="LeftMessages"/>.
    /// </summary>
    internal bool HasLeft { get; set; }

    /// <summary>The client's subscriptions of one kind. Only the client's own commands change them.</summary>
    internal HashSet<byte[]> SubscriptionsOf(SubscriptionKind kind)
    {
        _subscriptions ??= [NewSet(), NewSet(), NewSet()];
        return _subscriptions[(int)kind];

        static HashSet<byte[]> NewSet() => new(ByteComparer.Instance);
    }

    internal int CountOf(SubscriptionKind kind) => _subscriptions?[(int)kind].Count ?? 0;

    /// <summary>Applies a mode of CLIENT REPLY, beginning with the current command.</summary>
    public void SetReplyMode(ReplyMode mode)
    {
        bool wasMuted = IsMuted;
        ReplyMode = mode;
        if (wasMuted != IsMuted) Connection?.Mute(IsMuted);
    }

    /// <summary>Advances the mode at the start of a command: a requested skip becomes active, or an active skip ends.</summary>
    public void AdvanceReplyMode()
    {
        if (ReplyMode == ReplyMode.SkipNext) SetReplyMode(ReplyMode.Skip);
        else if (ReplyMode == ReplyMode.Skip) SetReplyMode(ReplyMode.On);
    }

    private void SetText(ref string text, string value)
    {
        HeldBytes += SizeOf(value) - SizeOf(text);
        text = value;

        static long SizeOf(string text) => text.Length > ShortText ? text.Length * (long)sizeof(char) : 0;
    }

    /// <summary>Restores the state of a new connection, as RESET does. The library name stays.</summary>
    public void Reset()
    {
        // Invalidations have another form in the protocol of a new connection.
        if (Reply.Version >= 3) HasLeft = true;
        server.Hub.UnsubscribeAll(this);
        server.Monitors.Remove(this);
        server.Invalidations.Disable(this);
        Database = 0;
        Authenticated = !server.Access.Users.MustAuthenticate;
        User = server.Access.Users.Default;
        Name = "";
        // With Skip, the skipped reply is the reply to RESET itself.
        if (ReplyMode != ReplyMode.Skip) SetReplyMode(ReplyMode.On);
        NoTouch = false;
        ReadsReplica = false;
        NoEvict = false;
        Fieldsets = null;
        Reply.Version = (int)server.Config.ClientDefaultResp;
    }
}
