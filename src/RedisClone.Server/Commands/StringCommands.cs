using RedisClone.Server.Admin;
using RedisClone.Storage;
using static RedisClone.Server.Commands.CommandFlags;
using static RedisClone.Server.Commands.KeyFlags;

namespace RedisClone.Server.Commands;

/// <summary>Strings: values that are one run of bytes.</summary>
internal static class StringCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("GET", 2, Keys.At(1, RO | Access), ReadOnly | Fast, "string", "1.0.0", Get, "Returns the string value of a key."),
        new("SET", -3, Keys.At(1, RW | Access | Update | VariableFlags), Write | DenyOom, "string", "1.0.0", Set,
            "Sets the string value of a key, whatever it held before."),
    ];

    private static void Get(ref CommandContext c)
    {
        Entry entry = c.FindForRead(1);
        if (!entry.Exists) c.Reply.Null();
        else if (c.Expect(entry, ValueType.String)) ReplyString(ref c, entry);
    }

    private static void Set(ref CommandContext c)
    {
        Entry entry = c.FindForWrite(1);
        StringValue.Set(entry.Keyspace, ref entry, c.Args[1], c.Args[2], expiry: 0);
        c.Modified(1, NotifyFlags.String, "set");
        c.Reply.Ok();
    }

    /// <summary>A string value as a bulk reply, whatever its form.</summary>
    internal static void ReplyString(ref CommandContext c, in Entry entry)
    {
        if (entry.Encoding == ValueEncoding.Integer) c.Reply.BulkInteger(StringValue.Integer(entry));
        else c.Reply.Bulk(entry.Value);
    }
}
