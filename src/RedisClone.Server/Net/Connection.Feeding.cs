using Microsoft.Extensions.Logging;
using RedisClone.Server.Durability;
using RedisClone.Server.Replication;

namespace RedisClone.Server.Net;

/// <summary>How a client that speaks as a replica does is brought to where it can follow the stream of effects.</summary>
internal sealed partial class Connection
{
    /// <summary>The client has begun to speak as one. What it has not read stays in the stream, once for all replicas.</summary>
    internal Replica AsReplica()
    {
        if (_loop is not null) _loop.MostUnread = 0;
        return Session.Replica ??= _output.Replica = new Replica(this, _scheduler, _server.Replicas.Stream);
    }

    /// <summary>A replica gets the data of one moment; what has happened since waits until it has them. False: the connection ends.</summary>
    private async ValueTask<bool> FillAsync(Replica replica, LoopRounds? rounds)
    {
        if (replica.State == ReplicaState.Follows) return true;
        while (!replica.HasSnapshot)
        {
            await replica.AwaitStepAsync();
            if (_killed || IsClosed) return false;
            if (replica.HasSnapshot) break;
            replica.WriteSign(Session.Reply);
            if (!await SendAsync(rounds)) return false;
        }
        replica.WriteHead(Session.Reply, _server.ReplicationId);
        // The snapshot too may have what is not durable yet.
        if (_server.Journal is { HoldsReplies: true } journal) Session.SeenLsn = Math.Max(Session.SeenLsn, journal.Engine.Lsn);
        do
        {
            if (!await SendAsync(rounds)) return false;
        }
        while (replica.WritePart(Session.Reply));
        replica.Follow(ServerCore.UnixMilliseconds());
        return !replica.OnlySnapshot;
    }

    /// <summary>What a replica is sent has no room for replies: one that asks for any is let go, as by Redis.</summary>
    private bool KillIfAnswered(Replica replica)
    {
        if (!replica.WasAnswered(_output.Unflushed)) return false;
        _server.Log.LogWarning("Replica generated a reply to command '{Command}', disconnecting it: {Client}", Session.LastCommand?.FullName, ClientDescription.Of(Session));
        Kill();
        return true;
    }
}
