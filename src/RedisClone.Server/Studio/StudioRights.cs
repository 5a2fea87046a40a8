using System.Text;
using RedisClone.Engine;
using RedisClone.Engine.Acl;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Server.Studio;

/// <summary>What a user of the studio may do, beyond the permissions that apply to every command.</summary>
internal static class StudioRights
{
    /// <summary>Commands of the screens that do not read keys. The only one that changes something is CLIENT KILL.</summary>
    private static readonly HashSet<string> OfScreens = new(StringComparer.Ordinal)
    {
        "info", "client|list", "client|info", "client|kill", "slowlog|get", "slowlog|len", "latency|latest", "latency|history", "latency|histogram",
        "config|get", "memory|stats", "memory|doctor", "memory|usage", "memory|malloc-stats", "dbsize", "role", "ping", "select", "lastsave", "time",
        "hotkeys|get", "acl|whoami", "pubsub|channels", "pubsub|numsub", "pubsub|numpat", "command|count", "object|encoding", "object|freq", "object|idletime",
    };

    /// <summary>Commands after which a connection does not answer in turn any more.</summary>
    private static readonly HashSet<string> NotInConsole = new(StringComparer.Ordinal)
    {
        "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", "monitor", "sync", "psync", "replconf",
        "quit", "reset", "hello", "auth", "client|reply", "client|tracking", "wait", "waitaof",
    };

    /// <summary>Whether the permissions of a user include a command without keys.</summary>
    public static bool MayRun(ServerCore server, User user, string fullName)
    {
        string[] words = fullName.Split('|');
        byte[] text = Encoding.ASCII.GetBytes(string.Concat(words));
        ArgSlice[] arguments = words.Length == 1 ? [new(0, words[0].Length)] : [new(0, words[0].Length), new(words[0].Length, words[1].Length)];
        return user.IsUnrestricted || server.Commands.FindFull(Encoding.ASCII.GetBytes(fullName)) is { } row
            && user.Check(row, new Request(text, arguments, text.Length)).IsAllowed;
    }

    /// <summary>Returns why a command is not for the screens or for the console, or null.</summary>
    public static string? Refusal(ServerCore server, byte[][] command, bool inConsole)
    {
        if (RowOf(server, command) is not { } row) return null;     // the server replies with the error
        bool blocks = row.Has(CommandFlags.Blocking) && (row.Name is not ("xread" or "xreadgroup") || Array.Exists(command, IsBlock));
        if (inConsole) return blocks || NotInConsole.Contains(row.FullName) ? "ERR the console of the studio cannot run this command" : null;
        bool reads = row.Has(CommandFlags.ReadOnly) && !blocks;
        return reads || OfScreens.Contains(row.FullName) ? null : "ERR the screens of the studio only read";
    }

    private static bool IsBlock(byte[] argument) => Ascii.EqualsIgnoreCase(argument, "BLOCK"u8);

    private static CommandRow? RowOf(ServerCore server, byte[][] command)
    {
        CommandRow? row = server.Commands.Find(command[0]);
        return row is null || command.Length < 2 ? row : CommandTable.FindSubcommand(row, command[1]) ?? row;
    }
}
