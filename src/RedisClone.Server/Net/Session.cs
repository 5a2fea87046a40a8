using RedisClone.Protocol;
using RedisClone.Server.Acl;
using RedisClone.Server.Admin;
using RedisClone.Server.Caching;
using RedisClone.Server.Commands;
using RedisClone.Server.Pubsub;
using RedisClone.Server.Replication;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Net;

/// <summary>What CLIENT REPLY asked for.</summary>
internal enum ReplyMode : byte
{
    On,
    Off,

    /// <summary>The next command's reply is dropped too.</summary>
    SkipNext,

    /// <summary>This command's reply is dropped.</summary>
    Skip,
}

/// <summary>
/// The state of one client: what its commands may change and what CLIENT LIST shows. Owned by whichever thread runs the
/// client's command; others only read. A script, a transaction or a journal replay has one too, without a connection.
/// </summary>
internal sealed class Session(ServerCore server, long id, ReplyWriter reply)
{
    private HashSet<byte[]>[]? _subscriptions;

    public ServerCore Server => server;

    private long _heldBytes;

    public long Id => id;

    public ReplyWriter Reply { get; } = reply;

    /// <summary>The connection behind it; null for sessions of the server's own.</summary>
    public Connection? Connection { get; init; }

    public int Database { get; set; }

    public bool Authenticated { get; set; }

    /// <summary>The client may do nothing but authenticate: its parser takes little, its commands are refused.</summary>
    public bool MustAuthenticate => !Authenticated && server.Access.Users.MustAuthenticate;

    /// <summary>Whom it acts for.</summary>
    public User User { get; set; } = server.Access.Users.Default;

    public string Name { get; set; } = "";

    public string LibraryName { get; set; } = "";

    public string LibraryVersion { get; set; } = "";

    /// <summary>The client's address.</summary>
    public string PeerName { get; init; } = "?:0";

    /// <summary>The address that it connected to.</summary>
    public string LocalName { get; init; } = "?:0";

    /// <summary>On this machine: what the configuration allows to local clients only is allowed.</summary>
    public bool IsLocal { get; init; } = true;

    public bool IsUnixSocket { get; init; }

    public ReplyMode ReplyMode { get; private set; }

    /// <summary>Replies are dropped; messages that are no replies are not.</summary>
    public bool IsMuted => ReplyMode is ReplyMode.Off or ReplyMode.Skip;

    public bool NoTouch { get; set; }

    public bool NoEvict { get; set; }

    /// <summary>Set while the client caches and wants to hear of changes. A script's commands have their caller's.</summary>
    public ClientTracking? Tracking { get; set; }

    /// <summary>What HIMPORT PREPARE defined; null for nothing.</summary>
    public Fieldsets? Fieldsets { get; set; }

    /// <summary>Where memory is limited: what it runs, a transaction as a whole, began above the limit.</summary>
    public bool LacksMemory { get; set; }

    /// <summary>The commands queued since MULTI; null outside.</summary>
    public Transaction? Transaction { get; set; }

    /// <summary>Keys watched, and where they live.</summary>
    public List<(Shard Shard, DatabaseKey Key)> Watched { get; } = [];

    /// <summary>Keys of which the command that moved to a worker has told already that they are not there.</summary>
    public int MissesTold { get; set; }

    /// <summary>Commands are run as part of a whole, a transaction or a script: nothing blocks.</summary>
    public bool InTransaction { get; set; }

    /// <summary>What it runs are effects that took place already: what clients may not ask for can be among them.</summary>
    public bool IsReplay { get; init; }

    /// <summary>A watched key was changed: the next EXEC answers null. Written by whoever changes the key.</summary>
    public bool WatchedKeyChanged { get; set; }

    /// <summary>The position in the stream of effects that the client's replies have seen so far.</summary>
    public long SeenLsn { get; set; }

    /// <summary>Set while the client is blocked.</summary>
    public Waiter? Waiter { get; set; }

    /// <summary>How the current command waited before it was run again; null unless it was.</summary>
    public Waiter? WaitingAgain { get; set; }

    /// <summary>The shards that the current command asked for in addition (<see cref="Outcome.Widened"/>).</summary>
    internal ShardSet WidenedShards { get; set; }

    /// <summary>The connection closes once the reply has left.</summary>
    public bool CloseAfterReply { get; set; }

    /// <summary>Subscriptions of any kind: above zero, a RESP2 client may only subscribe, unsubscribe, ping and leave.</summary>
    public int Subscriptions => _subscriptions is null ? 0 : _subscriptions[0].Count + _subscriptions[1].Count + _subscriptions[2].Count;

    /// <summary>What it has said as a replica; null for who said nothing of the kind.</summary>
    internal Replica? Replica { get; set; }

    /// <summary>It is fed.</summary>
    public bool IsReplica => Replica is { State: > ReplicaState.Introduced };

    /// <summary>Suspended until CLIENT PAUSE is over.</summary>
    public bool IsPaused { get; set; }

    /// <summary>Error replies that were counted: what a command finds beyond it is its own.</summary>
    public int ErrorsCounted { get; set; }

    /// <summary>Its limits on output; see the configuration.</summary>
    public ClientClass Class => IsReplica ? ClientClass.Replica : Subscriptions > 0 ? ClientClass.PubSub : ClientClass.Normal;

    public long CreatedAt { get; init; } = ServerCore.UnixMilliseconds();

    public long LastInteraction { get; set; }

    /// <summary>The last command that was run, or that the client is blocked in.</summary>
    public CommandRow? LastCommand { get; set; }

    public long CommandsProcessed { get; set; }

    public long NetInput { get; set; }

    public long NetOutput { get; set; }

    /// <summary>Bytes of the keys that it watches or waits for and of the channels that it listens to.</summary>
    public long HeldBytes
    {
        get => _heldBytes;
        set
        {
            server.ClientMemory.HeldChanged(value - _heldBytes);
            _heldBytes = value;
        }
    }

    /// <summary>What <see cref="ClientMemory"/> has counted of it; changed by exchange only.</summary>
    internal long CountedMemory;

    /// <summary>Watches a key of the current database; its shard is held.</summary>
    public void Watch(Shard shard, ReadOnlySpan<byte> key, bool expired)
    {
        // All that takes memory comes before the shard knows of the watch: Unwatch goes by this list.
        var watched = new DatabaseKey(Database, key.ToArray());
        Watched.EnsureCapacity(Watched.Count + 1);
        if (!shard.Keys.AddWatch(this, Database, key, expired)) return;
        Watched.Add((shard, watched));
        HeldBytes += key.Length + Limits.BytesPerName;
    }

    /// <summary>Back to where MULTI began, watched keys forgotten; their shards are held.</summary>
    public void EndTransaction()
    {
        Transaction?.Release();
        Transaction = null;
        Unwatch();
    }

    /// <summary>Forgets all watched keys; their shards are held.</summary>
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

    /// <summary>What the client listens to; written only by its own commands.</summary>
    internal HashSet<byte[]> SubscriptionsOf(SubscriptionKind kind)
    {
        _subscriptions ??= [NewSet(), NewSet(), NewSet()];
        return _subscriptions[(int)kind];

        static HashSet<byte[]> NewSet() => new(ByteComparer.Instance);
    }

    internal int CountOf(SubscriptionKind kind) => _subscriptions?[(int)kind].Count ?? 0;

    /// <summary>What CLIENT REPLY asks for, in force for the very command.</summary>
    public void SetReplyMode(ReplyMode mode)
    {
        bool wasMuted = IsMuted;
        ReplyMode = mode;
        if (wasMuted != IsMuted) Connection?.Mute(IsMuted);
    }

    /// <summary>A command begins: the one that asked to skip the next reply is over, or the skipped one is.</summary>
    public void AdvanceReplyMode()
    {
        if (ReplyMode == ReplyMode.SkipNext) SetReplyMode(ReplyMode.Skip);
        else if (ReplyMode == ReplyMode.Skip) SetReplyMode(ReplyMode.On);
    }

    /// <summary>Back to how it was on connecting, as RESET does; the name of the library stays.</summary>
    public void Reset()
    {
        server.Hub.UnsubscribeAll(this);
        server.Monitors.Remove(this);
        server.Invalidations.Disable(this);
        Database = 0;
        Authenticated = !server.Access.Users.MustAuthenticate;
        User = server.Access.Users.Default;
        Name = "";
        // What is being skipped is the reply to RESET itself.
        if (ReplyMode != ReplyMode.Skip) SetReplyMode(ReplyMode.On);
        NoTouch = false;
        NoEvict = false;
        Fieldsets = null;
        Reply.Version = (int)server.Config.ClientDefaultResp;
    }
}
