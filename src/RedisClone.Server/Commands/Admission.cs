using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Net;

namespace RedisClone.Server.Commands;

/// <summary>Decides, before a command is routed, whether this client may run it now; the checks and their order are Redis's.</summary>
internal static class Admission
{
    private const int QuotedLength = 128;

    /// <summary>The error that refuses the command, or null.</summary>
    public static string? Refuse(ServerCore server, Session session, CommandRow? row, in Request request)
    {
        if (row is null) return UnknownCommand(request);
        if (row.Subcommands.Length > 0)
        {
            if (request.Count < 2) return Errors.WrongArity(row.Name);
            if (row.Handler is null) return Errors.UnknownSubcommand(Quote(request[1], QuotedLength), row.Name);
        }
        if (!row.ArityFits(request.Count)) return Errors.WrongArity(row.FullName);
        if (!session.Authenticated && !row.Has(CommandFlags.NoAuth)) return Errors.NoAuth;
        if (session.Subscriptions > 0 && session.Reply.Version < 3 && !row.Has(CommandFlags.InSubscribedMode))
            return $"ERR Can't execute '{row.FullName}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
        if (row.IsWrite && server.Journal is { Failure.Length: > 0 } journal)
            return $"MISCONF Errors writing to the AOF file: {journal.Failure}";
        return null;
    }

    private static string UnknownCommand(in Request request)
    {
        var text = new StringBuilder("ERR unknown command '").Append(Quote(request[0], QuotedLength)).Append("', with args beginning with: ");
        int start = text.Length;
        for (int i = 1; i < request.Count && text.Length - start < QuotedLength; i++)
            text.Append('\'').Append(Quote(request[i], QuotedLength - (text.Length - start))).Append("' ");
        return text.ToString();
    }

    private static string Quote(ReadOnlySpan<byte> text, int most) => Encoding.Latin1.GetString(text[..Math.Min(text.Length, Math.Max(0, most))]);
}
