using System.Buffers;
using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Replication.Following;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>
/// Commands that replicas send, commands about replicas, and the commands that change the role of this server.
/// </summary>
internal static class ReplicationCommands
{
    /// <summary>The role changes while every shard is held.</summary>
    private const CommandFlags Replicating = NoAsyncLoading | CommandFlags.Admin | NoScript | Stale | AllShards;

    /// <summary>The connection sends its outstanding replies before it becomes a replica.</summary>
    private const CommandFlags Feeding = NoAsyncLoading | CommandFlags.Admin | NoMulti | NoScript | Long;

    private static readonly SearchValues<byte> HostCharacters =
        SearchValues.Create("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_%[]"u8);

    private const string NoJournal = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";

    private const string NotOnReplicas =
        " cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the " +
        "default) writes to replicas are just local and are not propagated.";

    public static readonly CommandRow[] Rows =
    [
        new("ROLE",
            1, Keys.None, NoScript | Loading | Stale | Fast, "server", "2.8.12", Role,
            "Returns the server's role in replication.") { Categories = ["admin", "dangerous"] },
        new("WAIT numreplicas timeout",
            3, Keys.None, Blocking, "generic", "3.0.0", Wait,
            "Waits until a number of replicas have the writes of this connection.")
            { Categories = ["connection"], Tips = CommandTips.AllShardsMinimum },
        new("WAITAOF numlocal numreplicas timeout",
            4, Keys.None, Blocking, "generic", "7.2.0", WaitAof, "Waits until the writes of this connection are on disk.")
            { Categories = ["connection"], Tips = CommandTips.AllShardsMinimum },
        new("SYNC", 1, Keys.None, Feeding, "server", "1.0.0", Sync, "Sends all data and then every change."),
        new("PSYNC replicationid offset [FAILOVER]",
            -3, Keys.None, Feeding, "server", "2.8.0", PSync, "Sends all data and then every change to a replica.")
            { Route = ShardsOfPSync },
        new("REPLCONF [option value [option value ...]]",
            -1, Keys.None, CommandFlags.Admin | NoScript | Loading | Stale | AllowBusy, "server", "3.0.0", ReplConf,
            "Sets options of a replica's connection.")
            { Complexity = "O(1)" },
        new("REPLICAOF <host port | NO ONE>",
            3, Keys.None, Replicating, "server", "5.0.0", SetPrimary, "Makes the server a replica, or with NO ONE a master."),
        new("SLAVEOF <host port | NO ONE>",
            3, Keys.None, Replicating, "server", "1.0.0", SetPrimary, "Makes the server a replica, or with NO ONE a master.")
            { DeprecatedSince = "5.0.0", ReplacedBy = "`REPLICAOF`" },
        FailoverCommand.Row,
    ];

    private static void Role(ref CommandContext c)
    {
        if (c.Server.Role is { Primary: { } primary } role)
        {
            c.Reply.ArrayHeader(5);
            c.Reply.Bulk("slave"u8);
            c.Reply.BulkString(primary.Host);
            c.Reply.Integer(primary.Port);
            c.Reply.BulkString((role.Follower?.State ?? LinkState.Connect).ToString().ToLowerInvariant());
            c.Reply.Integer(role.IsLinkUp ? c.Server.Replicas.Stream.Offset : -1);
            return;
        }
        Replica[] following = [.. c.Server.Replicas.All.Where(static replica => replica.HasWholeSnapshot)];
        c.Reply.ArrayHeader(3);
        c.Reply.Bulk("master"u8);
        c.Reply.Integer(c.Server.Replicas.Stream.Offset);
        c.Reply.ArrayHeader(following.Length);
        foreach (Replica replica in following)
        {
            c.Reply.ArrayHeader(3);
            c.Reply.BulkString(replica.Host);
            c.Reply.BulkString(replica.ListeningPort.ToString(CultureInfo.InvariantCulture));
            c.Reply.BulkString(replica.Acknowledged.ToString(CultureInfo.InvariantCulture));
        }
    }

    private static void Wait(ref CommandContext c)
    {
        long wanted = c.Int64(1);
        long timeout = c.Timeout(2);
        if (!c.Failed && c.Server.Role.IsReplica) c.Fail("ERR WAIT" + NotOnReplicas);
        if (c.Failed) return;
        Replicas replicas = c.Server.Replicas;
        long offset = replicas.Stream.Offset;
        if (replicas.CountAt(offset) >= wanted || !c.CanBlock)
        {
            c.Reply.Integer(replicas.CountAt(offset));
            return;
        }
        c.BlockFor(
            timeout, reply => reply.Integer(replicas.CountAt(offset)),
            waiter => replicas.WakeWhen(() => replicas.CountAt(offset) >= wanted, waiter));
    }

    /// <summary>
    /// Waits until the writes of this connection, and the writes that it read, are on the disk of this server and of a number
    /// of replicas.
    /// </summary>
    private static void WaitAof(ref CommandContext c)
    {
        long local = c.Int64(1, 0, 1, "ERR value is out of range, value must between 0 and 1");
        long wanted = c.Int64(2, 0, long.MaxValue, Errors.NotPositive);
        long timeout = c.Timeout(3);
        JournalKeeper? journal = c.Server.Journal;
        if (!c.Failed && c.Server.Role.IsReplica) c.Fail("ERR WAITAOF" + NotOnReplicas);
        if (!c.Failed && local > 0 && journal is null) c.Fail(NoJournal);
        if (c.Failed) return;
        ServerCore server = c.Server;
        Replicas replicas = server.Replicas;
        long lsn = c.Session.SeenLsn, offset = replicas.Stream.Offset;
        bool IsLocal() => journal is not null && journal.SafeLsn >= lsn;
        bool IsTurnedOff() => local > 0 && server.Journal is null;
        bool IsMet() => IsTurnedOff() || (local == 0 || IsLocal()) && replicas.CountFlushedAt(offset) >= wanted;
        void Answer(ReplyWriter reply)
        {
            if (IsTurnedOff())
            {
                reply.Error(NoJournal);
                return;
            }
            reply.ArrayHeader(2);
            reply.Integer(IsLocal() ? 1 : 0);
            reply.Integer(replicas.CountFlushedAt(offset));
        }

        if (IsMet() || !c.CanBlock)
        {
            Answer(c.Reply);
            return;
        }
        c.BlockFor(timeout, Answer, waiter =>
        {
            if (wanted == 0)
            {
                journal!.WakeWhenDurable(lsn, waiter);
                return;
            }
            replicas.WakeWhen(IsMet, waiter);
            if (local > 0) journal!.FlushSoon();
        });
    }

    private static void Sync(ref CommandContext c)
    {
        if (!c.Session.IsReplica && CanFeed(ref c) && HasRoom(ref c)) c.Server.Replicas.Admit(Replica(ref c));
    }

    /// <summary>Continues the stream for a replica that knows it up to an offset, or else sends all data first.</summary>
    private static void PSync(ref CommandContext c)
    {
        long next = c.Int64(2);
        string name = c.Session.Replica is { ListeningPort: > 0 } introduced ? $"{introduced.Host}:{introduced.ListeningPort}" : c.Session.PeerName;
        if (c.Failed) c.Server.Log.LogWarning("Replica {Name} asks for synchronization but with a wrong offset", name);
        else c.Server.Log.LogInformation("Replica {Name} asks for synchronization", name);
        if (c.Failed || c.Session.IsReplica) return;
        if (IsTakeover(c.Args)) TakeOver(ref c, next);
        else if (CanFeed(ref c) && HasRoom(ref c)) Feed(ref c, next);
    }

    private static void Feed(ref CommandContext c, long next)
    {
        Replica replica = Replica(ref c);
        if (c.Server.Role.Primary is { } primary && replica.IsAt(primary.Host, primary.Port))
        {
            c.Fail("NOMASTERLINK Can't SYNC with my own master");
            return;
        }
        replica.IsModern = true;
        if (!c.Server.Replicas.TryContinue(replica, c.Text(1), next - 1)) c.Server.Replicas.Admit(replica);
    }

    /// <summary>A takeover changes the role, so it holds every shard.</summary>
    private static ShardSet ShardsOfPSync(in Request request, Session session) => IsTakeover(request) ? session.Server.Shards.All : default;

    private static bool IsTakeover(in Request request) => request.Count > 3 && Ascii.EqualsIgnoreCase(request[3], "FAILOVER"u8);

    /// <summary>
    /// Becomes the primary because the present primary, which fails over to this server, becomes its replica. The primary has
    /// stopped its writes, and this server has all of them. After any error, the primary leads again, so this server sends one only while it is a
    /// replica itself.
    /// </summary>
    private static void TakeOver(ref CommandContext c, long next)
    {
        ReplicationRole role = c.Server.Role;
        // The command may have waited for the shards. A primary that is gone may have ended its failover, and asks again if it has not.
        if (c.IsAbandoned) c.Fail("ERR PSYNC FAILOVER comes from a closed connection.");
        else if (!role.IsReplica) c.Fail("ERR PSYNC FAILOVER can't be sent to a master.");
        else if (!c.Is(1, Encoding.ASCII.GetBytes(c.Server.History.Id))) c.Fail("ERR PSYNC FAILOVER replid must match my replid.");
        if (c.Failed || !HasRoom(ref c)) return;
        c.Server.Log.LogInformation("Failover request received from the master: this server becomes the master");
        try
        {
            role.Lead();
            Feed(ref c, next);
        }
        catch
        {
            // The primary gets no answer and asks again.
            c.Session.Connection!.Kill();
            throw;
        }
    }

    /// <summary>The client as a replica of this server.</summary>
    private static Replica Replica(ref CommandContext c) => c.Session.Connection!.AsReplica(c.Server.Replicas.Stream);

    /// <summary>A replica has a stream for replicas of its own only while it follows its primary.</summary>
    private static bool CanFeed(ref CommandContext c) =>
        (!c.Server.Failover.IsOn || c.Fail("NOMASTERLINK Can't SYNC while failing over")) &&
        (c.Server.Role is not { IsReplica: true, IsLinkUp: false } || c.Fail("NOMASTERLINK Can't SYNC while not connected with my master"));

    private static bool HasRoom(ref CommandContext c) =>
        c.Server.ClientMemory.TryFeed(Replica(ref c)) || c.Fail("NOMASTERLINK Can't SYNC while clients hold their part of the memory");

    private static void ReplConf(ref CommandContext c)
    {
        if (c.Args.Count % 2 == 0)
        {
            c.FailSyntax();
            return;
        }
        for (int i = 1; i < c.Args.Count && !c.Failed; i += 2)
        {
            if (c.Is(i, "ack"u8))
            {
                Acknowledge(ref c, i);
                return;
            }
            // GETACK asks a replica for its offset. A primary sends it in the stream, not to this connection.
            if (c.Is(i, "getack"u8)) return;
            if (c.Is(i, "listening-port"u8)) Replica(ref c).ListeningPort = (int)c.Int64(i + 1, 0, ushort.MaxValue, Errors.NotInteger);
            else if (c.Is(i, "ip-address"u8)) TakeAddress(ref c, i + 1);
            else if (c.Is(i, "rdb-only"u8))
                Replica(ref c).OnlySnapshot =
                    c.Int64(i + 1, 0, 1, "ERR value is out of range, value must between 0 and 1") == 1;
            else if (c.Is(i, "rdb-filter-only"u8) && c.Is(i + 1, "functions"u8)) Replica(ref c).OnlyFunctions = true;
            else if (c.Is(i, "rdb-filter-only"u8)) c.Fail($"ERR Unsupported rdb-filter-only option: {c.Echo(i + 1)}");
            else if (c.Is(i, "capa"u8) && c.Is(i + 1, "psync2"u8)) Replica(ref c).KnowsHistories = true;
            else if (c.Is(i, "capa"u8) && c.Is(i + 1, "eof"u8)) Replica(ref c).KnowsMarks = true;
            // The other capabilities and the version of a replica do not change the data that it receives.
            else if (!c.Is(i, "capa"u8) && !c.Is(i, "version"u8)) c.Fail($"ERR Unrecognized REPLCONF option: {c.Echo(i)}");
        }
        if (!c.Failed) c.Reply.Ok();
    }

    /// <summary>
    /// Sets the address that a replica announces. It must have the form of a host name, because other clients see it.
    /// </summary>
    private static void TakeAddress(ref CommandContext c, int argument)
    {
        ReadOnlySpan<byte> address = c.Args[argument];
        if (address.Length > Limits.HostName) c.Fail($"ERR REPLCONF ip-address provided by replica instance is too long: {address.Length} bytes");
        else if (address.ContainsAnyExcept(HostCharacters)) c.Fail("ERR REPLCONF ip-address provided by replica instance is " +
            "not a host");
        else Replica(ref c).Address = c.Text(argument);
    }

    /// <summary>
    /// Handles REPLCONF ACK offset [FACK offset], in which a replica reports its progress. It has no reply.
    /// </summary>
    private static void Acknowledge(ref CommandContext c, int argument)
    {
        if (c.Session is not { IsReplica: true, Replica: { } replica }) return;
        if (!RedisNumber.TryParseInt64(c.Args[argument + 1], out long processed)) return;
        long flushed = 0;
        if (argument + 3 < c.Args.Count && c.Is(argument + 2, "fack"u8) && !RedisNumber.TryParseInt64(c.Args[argument + 3], out flushed)) return;
        c.Server.Replicas.Acknowledged(replica, processed, flushed);
    }

    private static void SetPrimary(ref CommandContext c)
    {
        ReplicationRole role = c.Server.Role;
        if (c.Server.Cluster is not null) c.Fail("ERR REPLICAOF not allowed in cluster mode.");
        if (c.Server.Failover.IsOn) c.Fail("ERR REPLICAOF not allowed while failing over.");
        if (!c.Failed && c.Session.IsReplica) c.Fail("ERR Command is not valid when client is a replica.");
        if (c.Failed) return;
        if (c.Is(1, "no"u8) && c.Is(2, "one"u8))
        {
            if (role.IsReplica)
                c.Server.Log.LogInformation("MASTER MODE enabled (user request from '{Client}')", ClientDescription.DuringCommand(c.Session));
            role.Lead();
            c.Reply.Ok();
            return;
        }
        var primary = new ReplicaOf(c.Text(1), (int)c.Int64(2, 0, ushort.MaxValue, "ERR Invalid master port"));
        if (c.Args[1].Length is 0 or > Limits.HostName || c.Args[1].ContainsAnyExcept(HostCharacters)) c.Fail("ERR Invalid master host");
        if (!c.Failed && role.Connector is null) c.Fail("ERR this server has no network, so it cannot be a replica");
        if (c.Failed) return;
        if (role.Primary == primary)
        {
            c.Reply.SimpleString("OK Already connected to specified master"u8);
            return;
        }
        // Earlier commands of the same transaction still belong to this server's own stream.
        c.Server.Executor.PlaceEffects(c.Session, c.Lane, c.Held);
        role.Follow(primary);
        c.Server.Log.LogInformation("REPLICAOF {Host}:{Port} enabled (user request from '{Client}')", primary.Host, primary.Port,
            ClientDescription.DuringCommand(c.Session));
        c.Reply.Ok();
    }
}
