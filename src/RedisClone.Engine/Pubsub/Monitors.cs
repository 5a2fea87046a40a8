using System.Globalization;
using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Journal.Format;
using RedisClone.Protocol;

namespace RedisClone.Engine.Pubsub;

/// <summary>The clients that see every command (MONITOR). Without any, the cost for a command is one field read.</summary>
internal sealed class Monitors
{
    private readonly Lock _changing = new();
    private readonly SharedList<Session> _sessions = [];

    public bool Any => _sessions.Count > 0;

    public bool Contains(Session session) => _sessions.Contains(session);

    public void Add(Session session)
    {
        lock (_changing)
            if (!_sessions.Contains(session)) _sessions.Add(session);
    }

    public void Remove(Session session)
    {
        if (!Contains(session)) return;
        session.HasLeft = true;
        lock (_changing) _sessions.Remove(session);
    }

    /// <summary>
    /// Shows a command before it runs, with secrets hidden. <paramref name="source"/> is the client's address, or lua. If the line is too
    /// long for the memory, the monitors are disconnected, and the command runs. Returns the line that was sent.
    /// </summary>
    public byte[]? Show(Session author, string source, CommandRow row, in Request request)
    {
        if (!Any || row.Has(CommandFlags.Admin)) return null;
        try
        {
            return Send(author, source, row, request);
        }
        catch (Exception failure) when (failure is OutOfMemoryException or ArgumentOutOfRangeException)
        {
            foreach (Session session in _sessions) session.Connection!.Kill();
            return null;
        }
    }

    private byte[] Send(Session author, string source, CommandRow row, in Request request)
    {
        long microseconds = ServerCore.UnixMicroseconds();
        var line = new StringBuilder();
        line.Append(CultureInfo.InvariantCulture, $"+{microseconds / 1_000_000}.{microseconds % 1_000_000:D6} [{author.Database} {source}]");
        for (int i = 0; i < request.Count; i++) QuotedWords.AppendQuoted(line.Append(' '), row.Show(request, i));
        byte[] message = Encoding.Latin1.GetBytes(line.Append("\r\n").ToString());
        using HeldMessages.Together held = author.Server.Lanes.Current.Messages.HoldTogether();
        foreach (Session session in _sessions) session.Connection!.Push(message);
        return message;
    }
}
