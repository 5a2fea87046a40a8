using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands;

/// <summary>A row of the command table as COMMAND INFO and COMMAND DOCS show it.</summary>
internal static class CommandDescription
{
    private static readonly (CommandFlags Flag, string Name)[] FlagNames =
    [
        (CommandFlags.Write, "write"), (CommandFlags.ReadOnly, "readonly"), (CommandFlags.DenyOom, "denyoom"), (CommandFlags.Admin, "admin"),
        (CommandFlags.PubSub, "pubsub"), (CommandFlags.NoScript, "noscript"), (CommandFlags.Blocking, "blocking"), (CommandFlags.Loading, "loading"),
        (CommandFlags.Stale, "stale"), (CommandFlags.SkipMonitor, "skip_monitor"), (CommandFlags.SkipSlowLog, "skip_slowlog"),
        (CommandFlags.Fast, "fast"), (CommandFlags.NoAuth, "no_auth"), (CommandFlags.NoMandatoryKeys, "no_mandatory_keys"),
        (CommandFlags.NoAsyncLoading, "no_async_loading"), (CommandFlags.NoMulti, "no_multi"), (CommandFlags.AllowBusy, "allow_busy"),
    ];

    private static readonly (KeyFlags Flag, string Name)[] KeyFlagNames =
    [
        (KeyFlags.RO, "RO"), (KeyFlags.RW, "RW"), (KeyFlags.OW, "OW"), (KeyFlags.RM, "RM"), (KeyFlags.Access, "access"), (KeyFlags.Update, "update"),
        (KeyFlags.Insert, "insert"), (KeyFlags.Delete, "delete"), (KeyFlags.NotKey, "not_key"), (KeyFlags.Incomplete, "incomplete"),
        (KeyFlags.VariableFlags, "variable_flags"),
    ];

    /// <summary>Indexed by <see cref="ArgumentKind"/>.</summary>
    private static readonly string[] ArgumentKindNames = ["string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof", "block"];

    private static readonly (Func<CommandArgument, bool> IsSet, string Name)[] ArgumentFlagNames =
        [(a => a.IsOptional, "optional"), (a => a.IsRepeated, "multiple"), (a => a.RepeatsToken, "multiple_token")];

    public static void Info(ReplyWriter reply, CommandRow? row)
    {
        if (row is null)
        {
            reply.Null();
            return;
        }
        LegacyKeys keys = LegacyKeys.Of(row.Keys);
        reply.ArrayHeader(10);
        reply.BulkString(row.FullName);
        reply.Integer(row.Arity);
        Words(reply, FlagNames.Where(f => row.Has(f.Flag)).Select(f => f.Name).Concat(keys.Movable ? ["movablekeys"] : Array.Empty<string>()));
        reply.Integer(keys.First);
        reply.Integer(keys.Last);
        reply.Integer(keys.Step);
        Words(reply, CommandCategories.Of(row).Select(c => "@" + c));
        reply.SetHeader(row.Tips.Length);
        foreach (string tip in row.Tips) reply.BulkString(tip);
        reply.SetHeader(row.Keys.Length);
        foreach (KeySpec key in row.Keys) Key(reply, key);
        reply.ArrayHeader(row.Subcommands.Length);
        foreach (CommandRow sub in row.Subcommands) Info(reply, sub);
    }

    public static void Docs(ReplyWriter reply, CommandRow row)
    {
        var fields = new List<(string Name, string Value)>();
        if (row.Summary.Length > 0) fields.Add(("summary", row.Summary));
        fields.Add(("since", row.Since));
        fields.Add(("group", row.Group));
        fields.Add(("complexity", row.Complexity));
        bool deprecated = row.DeprecatedSince is not null;
        reply.MapHeader(fields.Count + (deprecated ? 2 : 0) + (row.ReplacedBy is null ? 0 : 1)
            + (row.Syntax.Length > 0 ? 1 : 0) + (row.Subcommands.Length > 0 ? 1 : 0));
        foreach ((string name, string value) in fields) Field(reply, name, value);
        if (deprecated)
        {
            reply.Bulk("doc_flags"u8);
            Words(reply, ["deprecated"]);
            Field(reply, "deprecated_since", row.DeprecatedSince!);
        }
        if (row.ReplacedBy is not null) Field(reply, "replaced_by", row.ReplacedBy);
        if (row.Syntax.Length > 0)
        {
            int keys = 0;
            reply.Bulk("arguments"u8);
            Arguments(reply, row, CommandSyntax.Parse(row.Syntax), ref keys);
        }
        if (row.Subcommands.Length == 0) return;
        reply.Bulk("subcommands"u8);
        reply.MapHeader(row.Subcommands.Length);
        foreach (CommandRow sub in row.Subcommands)
        {
            reply.BulkString(sub.FullName);
            Docs(reply, sub);
        }
    }

    /// <param name="keysBefore">The number of key arguments before these, which selects the key specification.</param>
    private static void Arguments(ReplyWriter reply, CommandRow row, CommandArgument[] arguments, ref int keysBefore)
    {
        reply.ArrayHeader(arguments.Length);
        foreach (CommandArgument argument in arguments)
        {
            bool isGroup = argument.Kind is ArgumentKind.Choice or ArgumentKind.Block;
            bool isKey = argument.Kind == ArgumentKind.Key && row.Keys.Length > 0;
            string[] flags = [.. ArgumentFlagNames.Where(f => f.IsSet(argument)).Select(f => f.Name)];
            reply.MapHeader(3 + (isKey ? 1 : 0) + (argument.Token is null ? 0 : 1) + (flags.Length > 0 ? 1 : 0));
            Field(reply, "name", isGroup ? argument.GroupName : argument.Name);
            Field(reply, "type", ArgumentKindNames[(int)argument.Kind]);
            if (!isGroup) Field(reply, "display_text", argument.Name);
            if (isKey)
            {
                reply.Bulk("key_spec_index"u8);
                reply.Integer(Math.Min(keysBefore++, row.Keys.Length - 1));
            }
            if (argument.Token is not null) Field(reply, "token", argument.Token);
            if (flags.Length > 0)
            {
                reply.Bulk("flags"u8);
                Words(reply, flags);
            }
            if (!isGroup) continue;
            reply.Bulk("arguments"u8);
            Arguments(reply, row, argument.Parts, ref keysBefore);
        }
    }

    public static void KeyFlagWords(ReplyWriter reply, KeyFlags flags) => Words(reply, KeyFlagNames.Where(f => (flags & f.Flag) != 0).Select(f => f.Name));

    private static void Key(ReplyWriter reply, KeySpec key)
    {
        reply.MapHeader(3);
        reply.Bulk("flags"u8);
        KeyFlagWords(reply, key.Flags);
        reply.Bulk("begin_search"u8);
        if (key.IsUnknown) Rule(reply, "unknown");
        else if (key.Keyword is not null) Rule(reply, "keyword", ("keyword", key.Keyword), ("startfrom", key.StartFrom));
        else Rule(reply, "index", ("index", key.Index));
        reply.Bulk("find_keys"u8);
        if (key.IsUnknown) Rule(reply, "unknown");
        else if (key.Counted) Rule(reply, "keynum", ("keynumidx", 0), ("firstkey", key.FirstKey), ("keystep", key.Step));
        else Rule(reply, "range", ("lastkey", key.Last), ("keystep", key.Step), ("limit", key.Limit));
    }

    private static void Rule(ReplyWriter reply, string type, params ReadOnlySpan<(string Name, object Value)> parts)
    {
        reply.MapHeader(2);
        Field(reply, "type", type);
        reply.Bulk("spec"u8);
        reply.MapHeader(parts.Length);
        foreach ((string name, object value) in parts)
        {
            reply.BulkString(name);
            if (value is int number) reply.Integer(number);
            else reply.BulkString((string)value);
        }
    }

    private static void Field(ReplyWriter reply, string name, string value)
    {
        reply.BulkString(name);
        reply.BulkString(value);
    }

    private static void Words(ReplyWriter reply, IEnumerable<string> words)
    {
        string[] all = [.. words];
        reply.SetHeader(all.Length);
        foreach (string word in all) reply.SimpleString(Encoding.ASCII.GetBytes(word));
    }
}
