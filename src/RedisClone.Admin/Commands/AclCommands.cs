using System.Security.Cryptography;
using System.Text;
using RedisClone.Engine.Acl;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>ACL: users and their permissions.</summary>
internal static class AclCommands
{
    private const int DefaultLogCount = 10;
    private const int MaxPasswordBits = 4096;
    private const CommandFlags Anybody = NoScript | Loading | Stale;
    private const CommandFlags Administrators = CommandFlags.Admin | NoScript | Loading | Stale;
    private const string PerUser = "O(N). Where N is the number of configured users.";

    private const string NoFile =
        "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER " +
            "command and then issue a CONFIG " +
        "REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.";

    public static readonly CommandRow[] Rows =
    [
        new("ACL", -2, Keys.None, None, "server", "6.0.0", null, "Commands about users and their permissions.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                Sub("CAT [category]", -2, Anybody, Categories, "Lists the categories of commands, or the commands of one.",
                    "O(1) since the categories and commands are a fixed set."),
                Sub("DELUSER username [username ...]", -3, Administrators, DeleteUsers, "Deletes users and disconnects their clients.",
                    "O(1) amortized time considering the typical user.", CommandTips.AllNodes, secret: true),
                Sub("DRYRUN username command [arg [arg ...]]", -4, Administrators, DryRun,
                    "Returns whether a user may run a command, without running it.", secret: true, since: "7.0.0"),
                Sub("GENPASS [bits]", -2, Anybody, GeneratePassword, "Generates a password of 256 bits, or of the given number."),
                Sub("GETUSER username", 3, Administrators, GetUser, "Shows a user.",
                    "O(N). Where N is the number of password, command and pattern rules that the user has.", secret: true),
                Sub("LIST", 2, Administrators, List, "Shows all users as lines of a configuration file.", PerUser),
                Sub("LOAD", 2, Administrators | Long, Load, "Replaces the users by those of the ACL file.", PerUser),
                Sub("LOG [count | RESET]", -2, Administrators, Log, "Shows recent refusals, or clears them.", "O(N) with N being the number of entries shown."),
                Sub("SAVE", 2, Administrators | Long, Save, "Writes the users to the ACL file.", PerUser, CommandTips.AllNodes),
                Sub("SETUSER username [rule [rule ...]]", -3, Administrators, SetUser, "Creates or changes a user by rules.",
                    "O(N). Where N is the number of rules provided.", CommandTips.AllNodes, secret: true),
                Sub("USERS", 2, Administrators, Names, "Lists the users' names.", PerUser),
                Sub("WHOAMI", 2, Anybody, WhoAmI, "Returns the user of this connection."),
                Help.Row("server", "6.0.0"),
            ],
        },
    ];

    private static CommandRow Sub(
        string usage, int arity, CommandFlags flags, CommandHandler handler, string summary, string complexity = "O(1)", string[]? tips = null,
        bool secret = false, string since = "6.0.0") =>
        new(usage, arity, Keys.None, flags, "server", since, handler, summary)
        {
            Complexity = complexity, Tips = tips ?? [], IsSecret = secret ? static (in _, _) => true : null,
        };

    private static UserTable UsersOf(in CommandContext c) => c.Server.Access.Users;

    private static void WhoAmI(ref CommandContext c) => c.Reply.Bulk(AccessText.Bytes(c.Session.User.Name));

    private static void Names(ref CommandContext c)
    {
        User[] users = [.. UsersOf(c).All];
        c.Reply.ArrayHeader(users.Length);
        foreach (User user in users) c.Reply.Bulk(AccessText.Bytes(user.Name));
    }

    private static void List(ref CommandContext c)
    {
        string[] lines = [.. UsersOf(c).Lines()];
        c.Reply.ArrayHeader(lines.Length);
        foreach (string line in lines) c.Reply.Bulk(AccessText.Bytes(line));
    }

    private static void SetUser(ref CommandContext c)
    {
        // Nothing else counts what the users' rules take.
        if (c.Server.Failures.IsShortOfMemory)
        {
            c.Fail(Errors.AllocationFailed);
            return;
        }
        string name = AccessText.Of(c.Args[2]);
        if (AccessText.HasBlanks(name))
        {
            c.Fail("ERR Usernames can't contain spaces or null characters");
            return;
        }
        string[] rules = new string[c.Args.Count - 3];
        for (int i = 0; i < rules.Length; i++) rules[i] = AccessText.Of(c.Args[i + 3]);
        if (UsersOf(c).Set(name, rules, c.Session) is { } error) c.Fail("ERR " + error);
        else c.Reply.Ok();
    }

    private static void DeleteUsers(ref CommandContext c)
    {
        for (int i = 2; i < c.Args.Count && !c.Failed; i++)
            if (c.Args[i].SequenceEqual("default"u8)) c.Fail("ERR The 'default' user cannot be removed");
        if (c.Failed) return;
        int deleted = 0;
        for (int i = 2; i < c.Args.Count; i++)
            if (UsersOf(c).Delete(c.Args[i], c.Session)) deleted++;
        c.Reply.Integer(deleted);
    }

    private static void GetUser(ref CommandContext c)
    {
        if (UsersOf(c).Find(c.Args[2]) is not { } user)
        {
            c.Reply.Null();
            return;
        }
        Permissions permissions = user.Permissions;
        c.Reply.MapHeader(6);
        c.Reply.Bulk("flags"u8);
        string[] flags = [.. permissions.Flags()];
        c.Reply.SetHeader(flags.Length);
        foreach (string flag in flags) c.Reply.BulkString(flag);
        c.Reply.Bulk("passwords"u8);
        c.Reply.ArrayHeader(permissions.Passwords.Count);
        foreach (string hash in permissions.Passwords) c.Reply.BulkString(hash);
        ReplySelector(c.Reply, permissions.Root);
        Selector[] further = [.. permissions.Further];
        c.Reply.Bulk("selectors"u8);
        c.Reply.ArrayHeader(further.Length);
        foreach (Selector selector in further)
        {
            c.Reply.MapHeader(3);
            ReplySelector(c.Reply, selector);
        }
    }

    private static void ReplySelector(ReplyWriter reply, Selector selector)
    {
        reply.Bulk("commands"u8);
        reply.Bulk(AccessText.Bytes(selector.DescribeCommands()));
        reply.Bulk("keys"u8);
        reply.Bulk(AccessText.Bytes(selector.DescribeKeys()));
        reply.Bulk("channels"u8);
        reply.Bulk(AccessText.Bytes(selector.DescribeChannels()));
    }

    private static void Categories(ref CommandContext c)
    {
        if (!c.HasAtMost(3)) return;
        string[] names = CommandCategories.All;
        if (c.Args.Count == 3)
        {
            ulong mask = CommandCategories.MaskOf(AccessText.Of(c.Args[2]));
            if (mask == 0)
            {
                c.Fail($"ERR Unknown category '{c.Echo(2)}'");
                return;
            }
            names = [.. c.Server.Commands.All.Where(row => (row.CategoryMask & mask) != 0).Select(row => row.FullName)];
        }
        c.Reply.ArrayHeader(names.Length);
        foreach (string name in names) c.Reply.BulkString(name);
    }

    private static void GeneratePassword(ref CommandContext c)
    {
        if (!c.HasAtMost(3)) return;
        long bits = c.Args.Count == 3 ? c.Int64(2) : 256;
        if (!c.Failed && bits is <= 0 or > MaxPasswordBits)
            c.Fail($"ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to {MaxPasswordBits}");
        if (!c.Failed) c.Reply.BulkString(RandomNumberGenerator.GetHexString((int)(bits + 3) / 4, lowercase: true));
    }

    private static void DryRun(ref CommandContext c)
    {
        Request request = c.Args.From(3);
        if (UsersOf(c).Find(c.Args[2]) is not { } user) c.Fail($"ERR User '{c.Echo(2)}' not found");
        else if (c.Server.Commands.Resolve(request) is not { } row || row.Subcommands.Length > 0 && request.Count > 1)
            c.Fail($"ERR Command '{c.Echo(3)}' not found");
        else if (!row.ArityFits(request.Count)) c.Fail(Errors.WrongArity(row.FullName));
        else if (user.Check(row, request) is { IsAllowed: false } denial) c.Reply.Bulk(denial.LongMessage(user, row, request));
        else c.Reply.Ok();
    }

    private static void Load(ref CommandContext c)
    {
        if (c.Server.Config.AclFile.Length == 0) c.Fail(NoFile);
        else if (c.Server.Access.LoadFile(c.Session) is { } errors) c.Fail("ERR " + Errors.Spell(errors));
        else c.Reply.Ok();
    }

    private static void Save(ref CommandContext c)
    {
        if (c.Server.Config.AclFile.Length == 0)
        {
            c.Fail(NoFile);
        }
        else if (c.Server.Access.SaveFile() is { } reason)
        {
            c.Server.Log.LogWarning("Writing the ACL file for ACL SAVE: {Reason}", reason);
            c.Fail("ERR There was an error trying to save the ACLs. Please check the server logs for more information");
        }
        else
        {
            c.Reply.Ok();
        }
    }

    private static void Log(ref CommandContext c)
    {
        if (!c.HasAtMost(3)) return;
        if (c.Args.Count == 3 && c.Is(2, "reset"u8))
        {
            c.Server.Access.Log.Reset();
            c.Reply.Ok();
            return;
        }
        long count = c.Args.Count == 3 ? c.Int64(2) : DefaultLogCount;
        if (c.Failed) return;
        AccessLogEntry[] entries = c.Server.Access.Log.Read(Math.Max(count, 0));
        c.Reply.ArrayHeader(entries.Length);
        foreach (AccessLogEntry entry in entries) ReplyEntry(c.Reply, entry, c.Now);
    }

    private static void ReplyEntry(ReplyWriter reply, AccessLogEntry entry, long now)
    {
        reply.MapHeader(10);
        reply.Bulk("count"u8);
        reply.Integer(entry.Count);
        reply.Bulk("reason"u8);
        reply.BulkString(entry.Reason switch
        {
            DenialReason.Command => "command",
            DenialReason.Key => "key",
            DenialReason.Channel => "channel",
            _ => "auth",
        });
        reply.Bulk("context"u8);
        reply.BulkString(entry.Context);
        reply.Bulk("object"u8);
        reply.Bulk(entry.Object);
        reply.Bulk("username"u8);
        reply.Bulk(AccessText.Bytes(entry.User));
        reply.Bulk("age-seconds"u8);
        reply.Double(Math.Max(now - entry.UpdatedAt, 0) / 1000.0);
        reply.Bulk("client-info"u8);
        reply.Bulk(Encoding.UTF8.GetBytes(entry.ClientInfo));
        reply.Bulk("entry-id"u8);
        reply.Integer(entry.Id);
        reply.Bulk("timestamp-created"u8);
        reply.Integer(entry.CreatedAt);
        reply.Bulk("timestamp-last-updated"u8);
        reply.Integer(entry.UpdatedAt);
    }
}
