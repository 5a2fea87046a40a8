using System.Text;
using RedisClone.Admin.Info;
using RedisClone.Engine.Commands;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>INFO: the state and statistics of the server.</summary>
internal static class InfoCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("INFO [section [section ...]]",
            -1, Keys.None, Loading | Stale, "server", "1.0.0", Info, "Returns the state of the server, by sections.")
            { Categories = ["dangerous"], Tips = CommandTips.EachShard },
    ];

    private static void Info(ref CommandContext c)
    {
        string[] sections = new string[c.Args.Count - 1];
        for (int i = 0; i < sections.Length; i++) sections[i] = c.Text(i + 1);
        c.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(InfoReport.Write(c.Server, sections)));
    }
}
