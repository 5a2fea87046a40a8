using System.Diagnostics;
using RedisClone.Engine.Acl;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Transactions;

/// <summary>The transaction commands. A transaction holds the shards of all its commands.</summary>
internal static class TransactionCommands
{
    public static readonly CommandHandler ExecHandler = Exec;

    public static readonly CommandRow[] Rows =
    [
        new("MULTI",
            1, Keys.None, NoScript | Loading | Stale | Fast | AllowBusy | NotQueued, "transactions", "1.2.0", Multi,
            "Starts a transaction; the following commands are queued."),
        new("EXEC",
            1, Keys.None, NoScript | Loading | Stale | SkipSlowLog | NotQueued, "transactions", "1.2.0", ExecHandler,
            "Runs the queued commands as one transaction.")
            { Route = ShardsOfExec, FlagsOf = FlagsOfExec, Complexity = "Depends on commands in the transaction" },
        new("DISCARD",
            1, Keys.None, NoScript | Loading | Stale | Fast | AllowBusy | NotQueued, "transactions", "2.0.0", Discard,
            "Discards the queued commands.") { Route = ShardsOfWatch, Complexity = "O(N), when N is the number of queued commands" },
        new("WATCH key [key ...]",
            -2, Keys.Range(1, -1, flags: KeyFlags.RO), NoScript | Grows | Loading | Stale | Fast | AllowBusy | NotQueued | Blind, "transactions",
            "2.2.0", Watch,
            "Watches keys; the next EXEC fails if one of them changes before it.") { Complexity = "O(1) for every key." },
        new("UNWATCH", 1, Keys.None, NoScript | Loading | Stale | Fast | AllowBusy | Blind, "transactions", "2.2.0", Unwatch,
            "Stops watching all keys.") { Route = ShardsOfWatch },
    ];

    private static void Multi(ref CommandContext c)
    {
        if (c.Session.Transaction is not null)
        {
            c.Fail("ERR MULTI calls can not be nested");
            return;
        }
        c.Session.Transaction = new Transaction(c.Clients.Commands) { IsAsking = c.Session.IsAsking };
        c.Reply.Ok();
    }

    private static void Discard(ref CommandContext c)
    {
        if (c.Session.Transaction is null)
        {
            c.Fail("ERR DISCARD without MULTI");
            return;
        }
        c.Session.EndTransaction();
        c.Reply.Ok();
    }

    private static void Watch(ref CommandContext c)
    {
        if (c.Session.Transaction is not null)
        {
            c.Fail("ERR WATCH inside MULTI is not allowed");
            return;
        }
        for (int i = 1; i < c.Args.Count; i++)
        {
            ulong hash = c.HashOf(i);
            Entry entry = c.KeyspaceOf(hash).Find(c.Args[i], hash);
            bool expired = entry.Exists && entry.Expiry != 0 && entry.Expiry <= c.Now;
            c.Session.Watch(c.Clients.Shards.Of(hash), c.Args[i], expired);
        }
        c.Reply.Ok();
    }

    private static void Unwatch(ref CommandContext c)
    {
        c.Session.Unwatch();
        c.Reply.Ok();
    }

    private static void Exec(ref CommandContext c)
    {
        if (HasOtherScripts(ref c) && c.NeedsAllShards()) return;
        if (c.Session.Transaction is { Aborted: false } transaction && IsLong(ref c, transaction) && c.MoveToWorker(long.MaxValue)) return;
        RunOrRefuse(ref c);
        c.Clients.Monitors.Show(c.Session, c.Session.PeerName, c.Row, c.Args);
    }

    /// <summary>
    /// Whether the scripts and functions need shards that are not held: the libraries and the cache of scripts may have changed after
    /// the shards were chosen.
    /// </summary>
    private static bool HasOtherScripts(ref CommandContext c) =>
        c.Session.Transaction is { Aborted: false } transaction && (transaction.Flags & RunsScript) != 0 &&
        !c.Held.ContainsAll(ShardsOfExec(c.Args, c.Session));

    private static void RunOrRefuse(ref CommandContext c)
    {
        Session session = c.Session;
        if (session.Transaction is not { } transaction)
        {
            c.Fail("ERR EXEC without MULTI");
            return;
        }
        if (transaction.Aborted)
        {
            session.EndTransaction();
            c.Fail(transaction.Refusal is { } refusal
                ? "EXECABORT Transaction discarded because of: " + (refusal.StartsWith("ERR ", StringComparison.Ordinal) ? refusal[4..] : refusal)
                : "EXECABORT Transaction discarded because of previous errors.");
            return;
        }
        if (session.WatchedKeyChanged || AnyWatchedExpired(ref c))
        {
            session.EndTransaction();
            c.Reply.NullArray();
            return;
        }
        session.Transaction = null;
        session.Unwatch();
        session.InTransaction = true;
        try
        {
            Run(ref c, transaction);
        }
        finally
        {
            session.InTransaction = false;
            transaction.Release();
        }
    }

    private static void Run(ref CommandContext c, Transaction transaction)
    {
        Session session = c.Session;
        long started = Stopwatch.GetTimestamp();
        c.Reply.ArrayHeader(transaction.Count);
        // Another client may change the rights meanwhile, which must not divide the transaction. A command of its own may.
        (User user, Permissions permissions) = (session.User, session.User.Permissions);
        bool mayChange = false;
        foreach (Transaction.Queued queued in transaction)
        {
            CommandRow row = queued.Row;
            if (mayChange || session.User != user) (user, permissions) = (session.User, session.User.Permissions);
            mayChange = row.Parent is { Name: "acl" };
            Request request = queued.Request;
            c.Clients.Monitors.Show(session, session.PeerName, row, request);
            if (!permissions.IsUnrestricted && Refuse(ref c, permissions, row, request) is { } denial)
            {
                session.Reply.Error(denial);
                continue;
            }
            // Queued commands write no effects of their own. Their effects form one unit, which is appended at the end of
            // EXEC.
            var part = new CommandContext(session, row, request, queued.Hash, c.Lane, c.Held, c.Now, cannotMove: true);
            part.LacksMemory = c.LacksMemory;
            int errors = c.Reply.Errors;
            c.Clients.Executor.RunPart(ref part, ref started);
            c.CountedErrors += c.Reply.Errors - errors;
        }
    }

    /// <summary>A lack of memory fails one command, as it does elsewhere. It must not divide the transaction.</summary>
    private static string? Refuse(ref CommandContext c, Permissions permissions, CommandRow row, in Request request)
    {
        try
        {
            return c.Clients.Access.RefuseQueued(c.Session, permissions, row, request);
        }
        catch (OutOfMemoryException)
        {
            return Errors.AllocationFailed;
        }
    }

    /// <summary>Whether a watched key has expired. This counts as a change even if the key is not removed yet.</summary>
    private static bool AnyWatchedExpired(ref CommandContext c)
    {
        foreach ((Shard shard, DatabaseKey key) in c.Session.Watched)
            if (shard.Keys.HasExpired(c.Session, key, c.Now)) return true;
        return false;
    }

    /// <summary>
    /// Whether a transaction is long enough for a worker. Its replies are sent only after the last one is written, so many
    /// bytes of replies also count as long.
    /// </summary>
    private static bool IsLong(ref CommandContext c, Transaction transaction)
    {
        if (transaction.Count > Limits.InlineTransaction) return true;
        long read = 0;
        foreach (Transaction.Queued queued in transaction)
        {
            if (queued.Row.Has(Long)) return true;
            if (!queued.Row.Has(ReadOnly) || !queued.Row.HasSingleKey) continue;
            Entry entry = c.KeyspaceOf(queued.Hash).Find(queued.Request[queued.Row.FirstKey], queued.Hash);
            if (entry.Exists && (read += entry.Value.Length) > Limits.UnflushedReplies) return true;
        }
        return false;
    }

    internal static ShardSet ShardsOfWatch(in Request request, Session session)
    {
        var set = default(ShardSet);
        foreach ((Shard shard, _) in session.Watched) set.Add(shard.Index);
        return set;
    }

    /// <summary>
    /// EXEC has the flags of all queued commands. It has a permission, such as running while the server loads data, only if
    /// all of them have it. The state of the server may have changed after the commands were queued.
    /// </summary>
    private static CommandFlags FlagsOfExec(CommandRow row, in Request request, Session session)
    {
        const CommandFlags permissions = Loading | Stale;
        if (session.Transaction is not { } transaction) return row.Flags;
        return row.Flags & ~(transaction.Lacks & permissions) | transaction.Flags & ~permissions;
    }

    private static ShardSet ShardsOfExec(in Request request, Session session)
    {
        ShardSet set = ShardsOfWatch(request, session);
        if (session.Transaction is not { NeedsShards: true } transaction) return set;
        foreach (Transaction.Queued queued in transaction) set.Add(Router.ShardsOf(session.Server, session, queued));
        return set;
    }
}
