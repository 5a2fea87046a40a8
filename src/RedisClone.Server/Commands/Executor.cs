using System.Diagnostics;
using Microsoft.Extensions.Logging;
using RedisClone.Protocol;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;

namespace RedisClone.Server.Commands;

/// <summary>
/// Runs one command whose shards are held by the calling thread, and everything around it that every command has: the error
/// as its reply, the effect as its journal entry, its counters.
/// </summary>
internal sealed class Executor(ServerCore server)
{
    /// <summary>
    /// Runs the handler. False when it asked to be run on a worker: it has had no effect then. <paramref name="started"/> is the
    /// time of the end of the command before, and becomes the end of this one: one clock reading a command.
    /// </summary>
    public bool Run(Session session, CommandRow row, in Request request, ulong hash, long now, Lane lane, bool onWorker, ref long started)
    {
        var context = new CommandContext(server, session, row, request, hash, now, lane, onWorker);
        ReplyMark mark = session.Reply.Mark();
        int errors = session.Reply.Errors;
        try
        {
            row.Handler!(ref context);
            if (context.Moved) return false;
            if (context.Failure is not null) session.Reply.Error(context.Failure);
        }
        catch (Exception bug)
        {
            // A bug must not spread: what was applied is what is journalled, the client gets an error instead of half a reply.
            session.Reply.Rollback(mark);
            session.Reply.Error(Errors.Internal);
            lane.UnexpectedErrors++;
            server.Log.LogError(bug, "Command {Command} of client {Client} failed unexpectedly", row.FullName, session.Id);
        }
        if (context.Changes > 0) lane.Changes += context.Changes;
        if (server.Effects.Wanted)
        {
            if (context.Changes > 0 && !context.EffectReplaced) lane.Effects.AddCommand(session.Database, request);
            server.Effects.Append(lane.Effects);
        }

        long ended = Stopwatch.GetTimestamp();
        ref CommandCounters counters = ref lane.Calls[row.Id];
        counters.Calls++;
        counters.Ticks += ended - started;
        started = ended;
        if (session.Reply.Errors != errors)
        {
            counters.Failed++;
            lane.CountError(session.Reply.LastErrorCode);
        }
        return true;
    }
}
