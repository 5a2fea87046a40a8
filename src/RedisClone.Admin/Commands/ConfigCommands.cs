using System.Text.Unicode;
using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>CONFIG: reads and sets parameters, and resets statistics.</summary>
internal static class ConfigCommands
{
    private const CommandFlags Flags = CommandFlags.Admin | NoScript | Loading | Stale;

    public static readonly CommandRow[] Rows =
    [
        new("CONFIG", -2, Keys.None, None, "server", "2.0.0", null, "Commands about the server's configuration.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("GET parameter [parameter ...]",
                    -3, Keys.None, Flags, "server", "2.0.0", Get, "Returns the values of parameters, by name or pattern.")
                    { Complexity = "O(N) when N is the number of configuration parameters provided" },
                // SET can bind sockets and write files, so it does not run on an I/O thread.
                new("SET parameter value [parameter value ...]",
                    -4, Keys.None, Flags | Long, "server", "2.0.0", Set,
                    "Sets parameters: all of them, or none if one is invalid.")
                {
                    Complexity = "O(N) when N is the number of configuration parameters provided",
                    Tips = CommandTips.AllNodes, IsSecret = IsSecret,
                },
                new("RESETSTAT",
                    2, Keys.None, Flags, "server", "2.0.0", ResetStatistics, "Sets the counters that INFO shows back to zero.")
                    { Tips = CommandTips.AllNodes },
                new("REWRITE",
                    2, Keys.None, Flags | Long, "server", "2.8.0", Rewrite,
                    "Writes the current values to the configuration file.") { Tips = CommandTips.AllNodes },
                Help.Row("server", "5.0.0"),
            ],
        },
    ];

    private static void Get(ref CommandContext c)
    {
        string[] patterns = new string[c.Args.Count - 2];
        for (int i = 0; i < patterns.Length; i++) patterns[i] = c.Text(i + 2);
        List<KeyValuePair<string, string>> values = c.Server.Parameters.Get(patterns);
        c.Reply.MapHeader(values.Count);
        foreach ((string name, string value) in values)
        {
            c.Reply.BulkString(name);
            c.Reply.BulkString(value);
        }
    }

    private static void Set(ref CommandContext c)
    {
        if (c.Args.Count % 2 != 0)
        {
            c.FailSyntax();
            return;
        }
        var values = new KeyValuePair<string, string>[c.Args.Count / 2 - 1];
        for (int i = 0; i < values.Length; i++)
        {
            // A password with other bytes would become another one.
            if (!Utf8.IsValid(c.Args[2 * i + 3]))
            {
                c.Fail($"ERR CONFIG SET failed (possibly related to argument '{c.Echo(2 * i + 2)}') - the value is not valid UTF-8");
                return;
            }
            values[i] = new(c.Text(2 * i + 2), c.Text(2 * i + 3));
        }
        bool isLoading = c.Server.Loading is not null || c.Server.Role.LoadsBeside;
        if (c.Server.Parameters.Set(values, c.Session.IsLocal, whileLoading: isLoading ? Errors.Loading : null) is { } error)
            c.Fail(Errors.Spell(error));
        else c.Reply.Ok();
    }

    private static bool IsSecret(in Request request, int index) =>
        index % 2 == 1 && index > 2 && ConfigTable.IsSecret(System.Text.Encoding.UTF8.GetString(request[index - 1]));

    private static void ResetStatistics(ref CommandContext c)
    {
        c.Server.Statistics.Reset();
        c.Server.Sampler.Reset();
        c.Server.Replicas.ResetCounts();
        c.Server.Cluster?.Use?.Reset();
        c.Reply.Ok();
    }

    private static void Rewrite(ref CommandContext c)
    {
        if (c.Server.Parameters.Rewrite() is { } error) c.Fail(Errors.Spell(error));
        else c.Reply.Ok();
    }
}
