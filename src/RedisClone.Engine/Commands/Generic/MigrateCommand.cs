using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Migrating;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>
/// MIGRATE: transfers keys to another server and then deletes them here. The command runs twice: first it reads the values, and
/// its client waits; after the transfer it deletes the keys. Commands that would change a key wait meanwhile, see <see
/// cref="MigrationLinks.MustWait"/>. A key that has changed without a command, or by a RESTORE, is transferred again. The second run
/// takes place even if the client is gone: a key must not stay on both servers.
/// </summary>
internal static class MigrateCommand
{
    private const int KeyArgument = 3, FirstOption = 6;

    /// <summary>Transfers after which the shards of the keys are held, because the keys change all the time.</summary>
    private const int MostFreeRounds = 4;

    /// <summary>The longest transfer under a hold.</summary>
    private static readonly TimeSpan LongestHold = TimeSpan.FromSeconds(1);

    private static readonly (byte[] Word, int Arguments)[] Options =
        [("copy"u8.ToArray(), 0), ("replace"u8.ToArray(), 0), ("auth"u8.ToArray(), 1), ("auth2"u8.ToArray(), 2)];

    public static readonly CommandRow[] Rows =
    [
        new("MIGRATE host port <key | \"\"> destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 username password] [KEYS key [key ...]]",
            -6,
            [
                new KeySpec(RW | Access | Delete) { Index = KeyArgument },
                new KeySpec(RW | Access | Delete | Incomplete) { Keyword = "KEYS", StartFrom = -2, Last = -1 },
            ],
            Write, "generic", "2.6.0", Migrate, "Transfers keys to another server.")
        {
            FindKeys = FindKeys,
            IsSecret = IsSecret,
            Categories = ["keyspace", "dangerous"],
            Complexity = "This command actually executes a DUMP+DEL in the source instance, and a RESTORE in the target instance. " +
                "See the pages of these commands for time complexity. Also an O(N) data transfer between the two instances is performed.",
            Tips = CommandTips.Nondeterministic,
        },
    ];

    private static void Migrate(ref CommandContext c)
    {
        if (c.Earlier is not null && c.Session.Migration is { } transfer)
        {
            Finish(ref c, transfer);
            return;
        }
        c.Session.Migration = null;
        if (!TryOptions(ref c, out Plan plan)) return;
        if (!c.CanBlock)
        {
            c.Fail("ERR MIGRATE cannot run in a transaction or a script, because it waits for another server");
            return;
        }
        if (c.Data.MigrationLinks.AreFull)
        {
            c.Fail("ERR the values of other MIGRATE commands, which wait for their targets, take too much memory");
            return;
        }
        long work = 0;
        for (int i = plan.FirstKey; i < plan.EndOfKeys; i++)
            if (c.Peek(i) is { Exists: true } entry) work += ValueInfo.MemoryUsage(entry) / 16;
        if (c.MoveToWorker(work)) return;
        var migration = new Migration(c.Data.MigrationLinks, plan.Target, plan.Timeout);
        for (int i = plan.FirstKey; i < plan.EndOfKeys; i++)
        {
            var key = new MigratedKey(c.Args[i].ToArray()) { Replaces = plan.Replaces };
            if (Read(c.FindForRead(i), key)) migration.Keys.Add(key);
        }
        if (migration.Keys.Count == 0)
        {
            c.Reply.SimpleString("NOKEY"u8);
            return;
        }
        Wait(ref c, migration);
    }

    private static void Wait(ref CommandContext c, Migration migration)
    {
        migration.Claim(c.Session.Database);
        c.Session.Migration = migration;
        Waiter? waiter = null;
        try
        {
            waiter = c.BlockForWork();
            if (waiter is null) c.Session.Migration = null;
            else migration.Start(waiter);
        }
        catch (OutOfMemoryException)
        {
            if (waiter is not null) c.EndWork(waiter);
            c.Session.Migration = null;
            throw;
        }
    }

    /// <summary>Deletes the keys that the target has, unless they have changed, and replies.</summary>
    private static void Finish(ref CommandContext c, Migration migration)
    {
        TryOptions(ref c, out Plan plan);
        long work = 0;
        foreach (MigratedKey key in migration.Keys) work += key.Payload.Length / 16;
        if (!plan.Copies && c.MoveToWorker(work)) return;
        string? first = migration.Error;
        if (first is not null && !plan.Copies)
        {
            // The keys that the target has confirmed are not left with a state that they do not have here.
            if (c.MoveToWorker(long.MaxValue)) return;
            migration.KeepConfirmed();
        }
        bool mustRepeat = !plan.Copies && HasChanges(ref c, migration);
        if (mustRepeat && migration.Rounds < MostFreeRounds && first is null)
        {
            Wait(ref c, migration);
            return;
        }
        if (mustRepeat)
        {
            if (c.MoveToWorker(long.MaxValue)) return;
            using var limit = new CancellationTokenSource(LongestHold);
            migration.RunAsync(limit.Token).Wait(CancellationToken.None);
        }
        c.Session.Migration = null;
        if (!plan.Copies) Remove(ref c, migration);
        if ((first ?? migration.Error) is { } error) c.Fail(error);
        else c.Reply.Ok();
    }

    /// <summary>
    /// Reads the values again and notes those that differ from what the target has, which must replace them. Returns false if there are
    /// none. A key that is gone has expired or was evicted. The target keeps its copy, which its clients may have changed.
    /// </summary>
    private static bool HasChanges(ref CommandContext c, Migration migration)
    {
        bool any = false;
        foreach (MigratedKey key in migration.Keys)
        {
            var now = new MigratedKey(key.Name);
            if (!Read(Find(ref c, key), now)) continue;
            bool wasRestored = key.WasRestored;
            key.WasRestored = false;
            bool isSame = now.Expiry == key.Expiry && now.Payload.AsSpan().SequenceEqual(key.Payload);
            if (key.IsConfirmed && isSame && !wasRestored) continue;
            (key.Payload, key.Expiry, key.Replaces, key.IsConfirmed) = (now.Payload, now.Expiry, true, false);
            any = true;
        }
        return any;
    }

    private static void Remove(ref CommandContext c, Migration migration)
    {
        var removed = new List<byte[]>();
        foreach (MigratedKey key in migration.Keys)
        {
            if (!key.IsConfirmed || Find(ref c, key) is not { Exists: true } entry) continue;
            entry.Keyspace.Remove(entry);
            c.Modified(key.Name, c.Data.Shards.HashOf(key.Name), c.Session.Database, NotifyFlags.Generic, "del");
            removed.Add(key.Name);
        }
        if (removed.Count == 0 || c.ReplaceEffect(removed.Count + 1) is not { } effect) return;
        effect.Add("DEL"u8);
        foreach (byte[] name in removed) effect.Add(name);
    }

    private static Entry Find(ref CommandContext c, MigratedKey key) => c.Find(key.Name, c.Data.Shards.HashOf(key.Name), c.Session.Database);

    private static bool Read(in Entry entry, MigratedKey into)
    {
        if (!entry.Exists || DumpCommands.PayloadOf(entry) is not { } payload) return false;
        (into.Payload, into.Expiry) = (payload, entry.Expiry);
        return true;
    }

    private static bool TryOptions(ref CommandContext c, out Plan plan)
    {
        plan = default;
        (int keyword, plan.FirstKey, plan.EndOfKeys) = KeysOf(c.Args);
        string? user = null, password = null;
        for (int i = FirstOption; i < (keyword < 0 ? c.Args.Count : keyword) && !c.Failed; i++)
        {
            int following = c.Args.Count - 1 - i;
            if (c.Is(i, "copy"u8)) plan.Copies = true;
            else if (c.Is(i, "replace"u8)) plan.Replaces = true;
            else if (c.Is(i, "auth"u8) && following >= 1) password = c.Text(++i);
            else if (c.Is(i, "auth2"u8) && following >= 2) (user, password) = (c.Text(++i), c.Text(++i));
            else c.FailSyntax();
        }
        if (!c.Failed && keyword >= 0 && c.Args[KeyArgument].Length > 0)
            c.Fail("ERR When using MIGRATE KEYS option, the key argument must be set to the empty string");
        long timeout = c.Int64(5), database = c.Int64(4);
        plan.Timeout = TimeSpan.FromMilliseconds(timeout <= 0 ? 1000 : Math.Min(timeout, int.MaxValue));
        plan.Target = new MigrationTarget(c.Text(1), c.Text(2), database, user, password) { IsInCluster = c.Data.Config.ClusterEnabled };
        return !c.Failed;
    }

    private static void FindKeys(in Request request, ref KeyPositions into)
    {
        (int keyword, int first, int end) = KeysOf(request);
        if (keyword >= 0 && request[KeyArgument].Length > 0) return;
        for (int i = first; i < end; i++) into.Add(i, RW | Access | Delete);
    }

    /// <summary>The position of the keyword KEYS, or -1, and of the keys.</summary>
    private static (int Keyword, int First, int End) KeysOf(in Request request)
    {
        int keyword = Walk(request, secret: -1, out _);
        return keyword < 0 ? (keyword, KeyArgument, KeyArgument + 1) : (keyword, keyword + 1, request.Count);
    }

    private static bool IsSecret(in Request request, int index)
    {
        Walk(request, index, out bool isSecret);
        return isSecret;
    }

    /// <summary>
    /// Walks over the options up to the keyword KEYS, whose position it returns, or -1, and says whether an argument is a user or a password.
    /// </summary>
    private static int Walk(in Request request, int secret, out bool isSecret)
    {
        isSecret = false;
        for (int i = FirstOption; i < request.Count; i++)
        {
            if (Ascii.EqualsIgnoreCase(request[i], "keys"u8)) return i;
            foreach ((byte[] word, int arguments) in Options)
            {
                if (!Ascii.EqualsIgnoreCase(request[i], word)) continue;
                isSecret |= secret > i && secret <= i + arguments;
                i += arguments;
                break;
            }
        }
        return -1;
    }

    private struct Plan
    {
        public bool Copies, Replaces;
        public int FirstKey, EndOfKeys;
        public MigrationTarget Target;
        public TimeSpan Timeout;
    }
}
