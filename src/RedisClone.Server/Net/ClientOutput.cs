using System.IO.Pipelines;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands.Pubsub;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Replication;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Server.Net;

/// <summary>
/// The output of one client: replies, and messages between them. It knows the bytes that wait at each stage, which the client's
/// output limit applies to. Only the connection's owner writes; any thread may add a message and read the sizes.
/// </summary>
internal sealed class ClientOutput(PipeWriter pipe, IEventLoopFeature? loop, ILoopSocketFeature? socket)
{
    /// <summary>The part of a heap with a limit that long replies of all clients may take before they are handed over: an eighth.</summary>
    private const int ScratchPart = 8;

    private static readonly ScratchLimit? s_scratch = HeapLimit.Bytes > 0 ? new ScratchLimit(HeapLimit.Bytes / ScratchPart) : null;

    /// <summary>Takes what is still written for clients that are gone. All of them share it.</summary>
    private static readonly DiscardWriter s_gone = new();

    private readonly Pushes _pushes = new();
    private DiscardWriter? _discard;
    private volatile bool _mustLookAtChannels;
    private long _mutedFrom;
    private long _handedOver;              // of the bytes that the reply writer counts
    private long _flushing;                // in a flush that the transport has not finished
    private long _noted;                   // of the unflushed bytes
    private long _softLimitSince;

    public ReplyWriter Reply { get; } = new(pipe, s_scratch);

    /// <summary>The client as a replica, which receives the stream of effects; null for other clients.</summary>
    public Replica? Replica { get; set; }

    /// <summary>Bytes that commands wrote and that are not handed to the transport yet.</summary>
    public long Unflushed => (_discard is null ? Reply.BytesWritten : _mutedFrom) - _handedOver;

    /// <summary>
    /// Bytes that were handed to the transport and not sent, and bytes that wait as messages, or in the stream or the snapshot of a replica.
    /// </summary>
    public long Unsent => Queued + (Replica?.Unsent ?? 0);

    /// <summary>
    /// The bytes kept for this client alone after a turn of its work. The stream of effects is not counted, because all replicas
    /// share it.
    /// </summary>
    public long Held => Volatile.Read(ref _noted) + Queued;

    /// <summary>Bytes that were handed to the transport and not sent.</summary>
    public long Leaving => (socket?.UnsentBytes ?? 0) + Above;

    private long Queued => Leaving + _pushes.Bytes;

    /// <summary>
    /// Bytes of a flush that may be above the socket: in the pipe of TLS, or of a connection of Kestrel. The part that TLS has passed on
    /// already is counted twice, because TLS does not tell it.
    /// </summary>
    private long Above => loop is null ? Volatile.Read(ref _flushing) : 0;

    /// <summary>
    /// The same as <see cref="Held"/>, as the bytes of the arrays: a chunk of output may be much larger than what it holds.
    /// </summary>
    public long HeldRoom => Math.Max(Held, (socket?.OutputRoom ?? 0) + RoomAbove + _pushes.Bytes);

    private long RoomAbove => Above is > 0 and var bytes ? bytes + Limits.SocketOutput : 0;

    public int Messages => _pushes.Count;

    public bool HasMessages => _pushes.Any || MustLookAtChannels || Replica is { HasNews: true };

    /// <summary>Adds a message that depends on an LSN. Returns true if the connection's owner must be woken.</summary>
    public bool Add(byte[] message, long lsn) => _pushes.Add(message, lsn);

    /// <summary>Whether the node may not have the slots of the client's shard channels any more.</summary>
    public bool MustLookAtChannels
    {
        get => _mustLookAtChannels;
        set => _mustLookAtChannels = value;
    }

    /// <summary>
    /// Counts the output that commands wrote so far as held, because the connection may have to wait before it can flush.
    /// </summary>
    public void NoteUnflushed() => Volatile.Write(ref _noted, Unflushed);

    /// <summary>Writes the messages. Returns the highest LSN that one depends on.</summary>
    public long WriteMessages(Session session)
    {
        bool muted = _discard is not null;
        if (muted) Mute(false);
        long seen = _pushes.WriteTo(Reply, session);
        Replica?.WriteTo(Reply);
        if (_mustLookAtChannels)
        {
            _mustLookAtChannels = false;
            PubSubCommands.EndForeign(session);
        }
        if (muted) Mute(true);
        return seen;
    }

    /// <summary>Releases the replies that were not handed over, because the client is gone.</summary>
    public void Drop()
    {
        Reply.Restart(s_gone);
        loop?.DropUnflushed();
    }

    /// <summary>Starts or stops dropping the replies.</summary>
    public void Mute(bool muted)
    {
        if (muted == _discard is not null) return;
        if (muted) _mutedFrom = Reply.BytesWritten;
        else _handedOver += Reply.BytesWritten - _mutedFrom;
        _discard = muted ? new DiscardWriter() : null;
        Reply.Redirect(muted ? _discard! : pipe);
    }

    /// <summary>
    /// Hands the written output to the transport and waits while the client does not read. Returns false if the client is gone.
    /// The output of a connection with an event loop is held there if <paramref name="heldAt"/> is the LSN that it depends on.
    /// </summary>
    public ValueTask<bool> FlushAsync(Session session, Lane lane, long heldAt = 0)
    {
        Reply.Commit();
        long bytes = Unflushed;
        _handedOver += bytes;
        Volatile.Write(ref _noted, 0);
        session.NetOutput += bytes;
        lane.NetOutput += bytes;
        if (bytes > 0) lane.CountSent(bytes);
        ValueTask<FlushResult> flush = heldAt > 0 ? loop!.FlushHeldAsync(heldAt) : pipe.FlushAsync();
        return flush.IsCompletedSuccessfully ? new ValueTask<bool>(!flush.Result.IsCompleted) : AwaitAsync(flush, bytes);
    }

    /// <summary>
    /// Hands a message to the event loop without the queue and the pipe of the replies. The caller must be on the event loop's
    /// thread while the connection waits for input. Returns false if other output must leave first.
    /// </summary>
    public bool TrySendMessage(byte[] message, Session session, Lane lane)
    {
        if (HasMessages || session.HasLeft || !loop!.TrySend(message)) return false;
        session.NetOutput += message.Length;
        lane.NetOutput += message.Length;
        lane.Writes++;
        return true;
    }

    /// <summary>Whether so little output waits that it exceeds no limit. This is what a client that reads finds.</summary>
    public bool IsSmall => Waiting <= 0 && Volatile.Read(ref _softLimitSince) == 0;

    /// <summary>Whether the waiting output exceeds the hard limit, or has exceeded the soft limit for too long.</summary>
    public bool IsOver(OutputBufferLimit limit)
    {
        long waiting = Waiting;
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

    private long Waiting => Unflushed + Unsent - Limits.UncountedOutput;

    private async ValueTask<bool> AwaitAsync(ValueTask<FlushResult> flush, long bytes)
    {
        Volatile.Write(ref _flushing, bytes);
        FlushResult result = await flush;
        Volatile.Write(ref _flushing, 0);
        return !result.IsCompleted;
    }
}
