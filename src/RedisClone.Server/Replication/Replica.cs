using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Protocol;
using RedisClone.Server.Net;
using RedisClone.Transport;

namespace RedisClone.Server.Replication;

internal enum ReplicaState
{
    /// <summary>It has said something about itself.</summary>
    Introduced,

    WaitsForSnapshot,

    TakesSnapshot,

    Follows,
}

/// <summary>A client that takes all data as they were at one moment, and from there on every effect.</summary>
internal sealed class Replica(Connection connection, IConnectionScheduler scheduler, ReplicationStream stream) : IDisposable
{
    private const int FilePart = 64 * 1024;

    private readonly Signal _step = new(scheduler);
    private readonly byte[] _part = new byte[FilePart];
    private int _signalled;
    private int _woken;
    private volatile bool _hasGap;
    private StreamPiece? _piece;
    private int _position;
    private long _sent;
    private long _start;
    private IDiskFile? _snapshot;
    private long _snapshotSent;
    private long _unflushed;

    public Connection Connection => connection;

    public ReplicaState State { get; private set; }

    /// <summary>Where it listens itself, as it says.</summary>
    public int ListeningPort { get; set; }

    /// <inheritdoc cref="ListeningPort"/>
    public string Address { get; set; } = "";

    /// <summary>Where others reach it.</summary>
    public string Host
    {
        get
        {
            if (Address.Length > 0) return Address;
            string peer = connection.Session.PeerName;
            return peer[..Math.Max(0, peer.LastIndexOf(':'))];
        }
    }

    /// <summary>It wants the snapshot, and is let go then.</summary>
    public bool OnlySnapshot { get; set; }

    /// <summary>It wants no keys in it.</summary>
    public bool OnlyFunctions { get; set; }

    /// <summary>It asked by PSYNC: it is told offsets, and tells how far it is.</summary>
    public bool IsModern { get; set; }

    /// <summary>Up to where it has processed the stream, and up to where it has that on its disk, as it says.</summary>
    public long Acknowledged { get; private set; }

    /// <inheritdoc cref="Acknowledged"/>
    public long Flushed { get; private set; }

    public long AcknowledgedAt { get; private set; }

    /// <summary>Bytes of the stream that it has not been sent.</summary>
    public long Behind => IsMarked ? stream.Offset - Volatile.Read(ref _sent) : 0;

    /// <summary>It misses a part of the stream: it gets nothing more, and its connection ends.</summary>
    public bool HasGap
    {
        get => _hasGap;
        set => _hasGap = value;
    }

    public bool HasNews => Volatile.Read(ref _woken) != 0;

    public bool HasSnapshot => State >= ReplicaState.TakesSnapshot;

    /// <summary>The moment of its snapshot is past: what happens is kept for it.</summary>
    public bool IsMarked => Volatile.Read(ref _piece) is not null;

    /// <summary>It asked for everything. What came of an earlier attempt is forgotten.</summary>
    public void Await()
    {
        _piece = null;
        State = ReplicaState.WaitsForSnapshot;
    }

    /// <summary>What it gets begins behind what the stream has by now.</summary>
    public void StartAt(StreamPiece piece, long offset)
    {
        (_position, _sent, _start) = (piece.Length, offset, offset);
        Volatile.Write(ref _piece, piece);
    }

    /// <summary>The snapshot is there; the file is this replica's to close.</summary>
    public void Give(IDiskFile snapshot)
    {
        _snapshot = snapshot;
        State = ReplicaState.TakesSnapshot;
        Step();
    }

    /// <summary>Has the connection look whether there is something to do; any thread may ask.</summary>
    public void Step()
    {
        if (Interlocked.Exchange(ref _signalled, 1) == 0) _step.Set();
    }

    /// <summary>For the connection while it has no snapshot.</summary>
    public async ValueTask AwaitStepAsync()
    {
        await _step.Wait();
        Volatile.Write(ref _signalled, 0);
    }

    /// <summary>A sign of life while it waits.</summary>
    public void WriteSign(ReplyWriter reply) => Write(reply, "\n"u8);

    /// <summary>Says what follows: the snapshot's length, and before it, to who asked by PSYNC, where the stream goes on.</summary>
    public void WriteHead(ReplyWriter reply, string history)
    {
        string head = string.Create(CultureInfo.InvariantCulture, $"${_snapshot!.Length}\r\n");
        if (IsModern) head = string.Create(CultureInfo.InvariantCulture, $"+FULLRESYNC {history} {_start}\r\n{head}");
        Write(reply, Encoding.ASCII.GetBytes(head));
    }

    /// <summary>Writes the next part of the snapshot; false when that was all.</summary>
    public bool WritePart(ReplyWriter reply)
    {
        int read = _snapshot!.Read(_snapshotSent, _part);
        Write(reply, _part.AsSpan(0, read));
        _snapshotSent += read;
        return read > 0;
    }

    /// <summary>It has the snapshot: what has happened since follows.</summary>
    public void Follow(long now)
    {
        Dispose();
        AcknowledgedAt = now;
        State = ReplicaState.Follows;
        Wake();
    }

    public void Acknowledge(long processed, long flushed, long now)
    {
        Acknowledged = Math.Max(Acknowledged, processed);
        Flushed = Math.Max(Flushed, flushed);
        AcknowledgedAt = now;
    }

    /// <summary>There is something to send; any thread may say so, also under a hold.</summary>
    public void Wake()
    {
        // Full fence, and again in WriteTo: either we see the connection's 0 and wake it, or it sees what we have written.
        if (State == ReplicaState.Follows && Interlocked.Exchange(ref _woken, 1) == 0) scheduler.Schedule(connection);
    }

    /// <summary>Writes what the replica has not got yet, up to what one flush may have.</summary>
    public void WriteTo(ReplyWriter reply)
    {
        Interlocked.Exchange(ref _woken, 0);
        if (State != ReplicaState.Follows || _hasGap) return;
        long most = _sent + Limits.UnflushedReplies;
        while (_sent < most)
        {
            int end = _piece!.Length;
            if (_position == end)
            {
                if (_piece.Next is not { } next) return;
                // It became full before it got a next one.
                if (_position == _piece.Length) (_piece, _position) = (next, 0);
                continue;
            }
            Write(reply, _piece.Bytes.AsSpan(_position, end - _position));
            Volatile.Write(ref _sent, _sent + end - _position);
            _position = end;
        }
        Wake();
    }

    /// <summary>
    /// Whether so many bytes, about to be sent to it, are more than what is for replicas: it has been given a reply, of which the stream has no room.
    /// </summary>
    public bool WasAnswered(long bytes)
    {
        bool answered = State > ReplicaState.Introduced && bytes > _unflushed;
        _unflushed = 0;
        return answered;
    }

    private void Write(ReplyWriter reply, ReadOnlySpan<byte> bytes)
    {
        reply.Raw(bytes);
        _unflushed += bytes.Length;
    }

    public void Dispose()
    {
        _snapshot?.Dispose();
        _snapshot = null;
    }
}
