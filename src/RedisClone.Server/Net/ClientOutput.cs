using System.IO.Pipelines;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Transport.EventLoop;
using RedisClone.Server.Replication;

namespace RedisClone.Server.Net;

/// <summary>
/// What goes to one client: replies, and between them messages that are no replies. It knows how much waits at each stage, which is
/// what the client's output limit is about. Written by the connection's owner; any thread may add a message and ask for sizes.
/// </summary>
internal sealed class ClientOutput(PipeWriter pipe, IEventLoopFeature? loop)
{
    private readonly Pushes _pushes = new();
    private DiscardWriter? _discard;
    private long _mutedFrom;
    private long _handedOver;              // of the bytes that the reply writer counts
    private long _flushing;                // in a flush that the transport has not finished
    private long _softLimitSince;

    public ReplyWriter Reply { get; } = new(pipe);

    /// <summary>The client as a replica, which is sent the stream of effects; null for others.</summary>
    public Replica? Replica { get; set; }

    /// <summary>Written by commands and not handed to the transport.</summary>
    public long Unflushed => (_discard is null ? Reply.BytesWritten : _mutedFrom) - _handedOver;

    /// <summary>Handed to the transport and not sent, or waiting: as messages, or in the stream that a replica follows.</summary>
    public long Unsent => Queued + (Replica?.Behind ?? 0);

    /// <summary>What was written waits until it may be told.</summary>
    public bool IsHeldBack { get; set; }

    /// <summary>What is kept for this client alone, once a turn of it has ended: of the stream that a replica follows there is one for all.</summary>
    public long Held => (IsHeldBack ? Unflushed : 0) + Queued;

    private long Queued => (loop?.UnsentBytes ?? Volatile.Read(ref _flushing)) + _pushes.Bytes;

    public int Messages => _pushes.Count;

    public bool HasMessages => _pushes.Any || Replica is { HasNews: true };

    /// <summary>True when the connection's owner must be woken.</summary>
    public bool Add(byte[] message) => _pushes.Add(message);

    public void WriteMessages()
    {
        bool muted = _discard is not null;
        if (muted) Mute(false);
        _pushes.WriteTo(Reply);
        Replica?.WriteTo(Reply);
        if (muted) Mute(true);
    }

    /// <summary>Replies from here on are dropped, or no longer.</summary>
    public void Mute(bool muted)
    {
        if (muted == _discard is not null) return;
        if (muted) _mutedFrom = Reply.BytesWritten;
        else _handedOver += Reply.BytesWritten - _mutedFrom;
        _discard = muted ? new DiscardWriter() : null;
        Reply.Redirect(muted ? _discard! : pipe);
    }

    /// <summary>Hands all that was written to the transport; waits while the client does not read. False when it is gone.</summary>
    public ValueTask<bool> FlushAsync(Session session, Lane lane)
    {
        Reply.Commit();
        long bytes = Unflushed;
        _handedOver += bytes;
        session.NetOutput += bytes;
        lane.NetOutput += bytes;
        if (bytes > 0) lane.Writes++;
        ValueTask<FlushResult> flush = pipe.FlushAsync();
        return flush.IsCompletedSuccessfully ? new ValueTask<bool>(!flush.Result.IsCompleted) : AwaitAsync(flush, bytes);
    }

    /// <summary>
    /// Hands a message to the loop past the queue and the replies' pipe. Only on the loop's thread while the connection waits for input;
    /// false where messages wait already.
    /// </summary>
    public bool TrySendMessage(byte[] message, Session session, Lane lane)
    {
        if (HasMessages) return false;
        loop!.Send(message);
        session.NetOutput += message.Length;
        lane.NetOutput += message.Length;
        lane.Writes++;
        return true;
    }

    /// <summary>Whether more waits than the client's class may have, at once or for too long.</summary>
    public bool IsOver(OutputBufferLimit limit)
    {
        long waiting = Unflushed + Unsent - Limits.UncountedOutput;
        if (limit.Hard > 0 && waiting >= limit.Hard) return true;
        if (limit.Soft <= 0 || waiting < limit.Soft)
        {
            Volatile.Write(ref _softLimitSince, 0);
            return false;
        }
        long now = ServerCore.UnixMilliseconds();
        long since = Volatile.Read(ref _softLimitSince);
        if (since == 0) Volatile.Write(ref _softLimitSince, since = now);
        return now - since > limit.SoftSeconds * 1000L;
    }

    private async ValueTask<bool> AwaitAsync(ValueTask<FlushResult> flush, long bytes)
    {
        Volatile.Write(ref _flushing, bytes);
        FlushResult result = await flush;
        Volatile.Write(ref _flushing, 0);
        return !result.IsCompleted;
    }
}
