using RedisClone.Storage;
using static RedisClone.Server.Commands.CommandFlags;
using static RedisClone.Server.Commands.KeyFlags;

namespace RedisClone.Server.Commands;

/// <summary>Commands on keys of any type.</summary>
internal static class KeyCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("DEL", -2, Keys.Range(1, -1, flags: RM | KeyFlags.Delete), Write, "generic", "1.0.0", Delete, "Deletes keys.") { Complexity = "O(N)" },
        new("EXISTS", -2, Keys.Range(1, -1, flags: RO), ReadOnly | Fast, "generic", "1.0.0", Exists, "Tells how many of the keys exist.") { Complexity = "O(N)" },
    ];

    private static void Delete(ref CommandContext c)
    {
        long deleted = 0;
        for (int i = 1; i < c.Args.Count; i++)
        {
            Entry entry = c.Peek(i);
            if (!entry.Exists) continue;
            c.Remove(entry, i);
            deleted++;
        }
        c.Reply.Integer(deleted);
    }

    private static void Exists(ref CommandContext c)
    {
        long count = 0;
        for (int i = 1; i < c.Args.Count; i++)
            if (c.FindForRead(i).Exists) count++;
        c.Reply.Integer(count);
    }
}
