using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Replication;

namespace RedisClone.Server.Net;

/// <summary>How a client that acts as a replica receives a snapshot and then follows the stream of effects.</summary>
internal sealed partial class Connection
{
    public Replica AsReplica(ReplicationStream stream)
    {
        if (_socket is not null) (_socket.MostUnsent, _socket.MostUnread) = (Limits.ReplicaUnread, 0);
        return Session.Replica ??= _output.Replica = new Replica(this, _scheduler, stream);
    }

    /// <summary>
    /// Sends the replica a snapshot of one moment, complete or while it is taken. Later effects wait until the snapshot is sent.
    /// Returns false if the connection ends.
    /// </summary>
    private async ValueTask<bool> FillAsync(Replica replica)
    {
        if (replica.HasWholeSnapshot) return true;
        while (!replica.HasSnapshot)
        {
            await replica.AwaitStepAsync();
            if (_killed || IsClosed) return false;
            if (replica.HasSnapshot) break;
            replica.WriteSign(Session.Reply);
            if (!await SendAsync()) return false;
        }
        replica.WriteHead(Session.Reply, _server.History.Id);
        // The snapshot may also contain effects that are not safe yet.
        SeeAllEffects();
        do
        {
            if (!await SendAsync()) return false;
            while (replica.AwaitsPart)
            {
                await replica.AwaitStepAsync();
                if (_killed || IsClosed) return false;
            }
        }
        while (replica.WritePart(Session.Reply));
        replica.EndSnapshot(ServerCore.UnixMilliseconds());
        return !replica.OnlySnapshot;
    }

    /// <summary>Logs that a replica has sent a command that is refused. It is disconnected soon, because the error is a reply.</summary>
    private void NoteErrorOf(CommandRow? row, string refusal) => _server.Log.LogWarning(
        "== CRITICAL == This master is sending an error to its replica: '{Error}' after processing the command '{Command}'",
        refusal, row?.FullName ?? "<unknown>");

    /// <summary>
    /// The stream of a replica has no room for replies. A replica that causes one is disconnected, as by Redis.
    /// </summary>
    private bool KillIfAnswered(Replica replica)
    {
        if (!replica.WasAnswered(_output.Unflushed)) return false;
        _server.Log.LogWarning("Replica generated a reply to command '{Command}', disconnecting it: {Client}",
            Session.LastCommand?.FullName, ClientDescription.Of(Session));
        Kill();
        return true;
    }
}
