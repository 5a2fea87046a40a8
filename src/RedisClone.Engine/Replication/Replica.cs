using System.Globalization;
using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Failures;
using RedisClone.Journal.Disk;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Replication;

internal enum ReplicaState
{
    /// <summary>The client has sent REPLCONF, but has not asked for the data.</summary>
    Introduced,

    WaitsForSnapshot,

    TakesSnapshot,

    /// <summary>The client has the whole snapshot. The stream begins when it has loaded it and acknowledges.</summary>
    LoadsSnapshot,

    Follows,
}

/// <summary>A client that receives a snapshot of all data and then every effect from that moment on.</summary>
internal sealed class Replica(IClientConnection connection, IConnectionScheduler scheduler, ReplicationStream stream) : IDisposable
{
    private const int FilePart = 64 * 1024;

    private readonly Signal _step = new(scheduler);
    private int _signalled;
    private int _woken;
    private volatile bool _hasGap;
    private readonly PieceReader _stream = new();
    private long _start;
    private IDiskFile? _snapshot;
    private long _snapshotSent;
    private readonly PieceReader _fed = new();
    private SnapshotFeed? _feed;
    private long _unflushed;
    private long _seen;                 // the bytes of the snapshot at the last look

    public IClientConnection Connection => connection;

    public ReplicaState State { get; private set; }

    /// <summary>The bytes of its output that are counted as memory of clients until it is gone.</summary>
    public int CountedBytes { get; set; }

    /// <summary>The port on which the replica listens, as it reported.</summary>
    public int ListeningPort { get; set; }

    /// <summary>The address of the replica, as it reported; empty if it reported none.</summary>
    public string Address { get; set; } = "";

    /// <summary>The reported address, or else the address of the connection's peer.</summary>
    public string Host
    {
        get
        {
            if (Address.Length > 0) return Address;
            string peer = connection.Session.PeerName;
            return peer[..Math.Max(0, peer.LastIndexOf(':'))];
        }
    }

    /// <summary>Whether this is the replica at an address, as REPLICAOF or FAILOVER names it.</summary>
    public bool IsAt(string host, int port) => ListeningPort == port && Host.Equals(host, StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether the client wants only the snapshot. It is disconnected after that.</summary>
    public bool OnlySnapshot { get; set; }

    /// <summary>Whether the client wants a snapshot without keys.</summary>
    public bool OnlyFunctions { get; set; }

    /// <summary>Whether the client used PSYNC. It then receives the offset of the stream and acknowledges offsets.</summary>
    public bool IsModern { get; set; }

    /// <summary>Whether the client takes a snapshot of unknown length, which a mark ends.</summary>
    public bool KnowsMarks { get; set; }

    /// <summary>Whether the client understands the name of a history in the reply to PSYNC.</summary>
    public bool KnowsHistories { get; set; }

    /// <summary>The offset up to which the replica has processed the stream, as it reported.</summary>
    public long Acknowledged { get; private set; }

    /// <summary>The offset up to which the replica has the stream on its disk, as it reported.</summary>
    public long Flushed { get; private set; }

    public long AcknowledgedAt { get; private set; }

    /// <summary>The time since when it waits for a snapshot.</summary>
    public long AwaitedSince { get; private set; }

    /// <summary>The time of the last look at which its part of a snapshot had grown, or at which there was nothing to send.</summary>
    public long MovedAt { get; private set; }

    /// <summary>The state by the name that INFO shows.</summary>
    public string StateName => State switch
    {
        ReplicaState.Follows or ReplicaState.LoadsSnapshot => "online",
        ReplicaState.TakesSnapshot when _feed is null => "send_bulk",
        _ => "wait_bgsave",
    };

    /// <summary>The seconds since the last acknowledgement; 0 before the replica follows.</summary>
    public long Lag(long now) => HasWholeSnapshot ? (now - AcknowledgedAt) / 1000 : 0;

    /// <summary>The offset up to which the stream is sent to the replica.</summary>
    public long SentOffset => _stream.Offset;

    /// <summary>The number of bytes of the stream that are not sent to the replica yet.</summary>
    public long Behind => IsMarked ? stream.Offset - SentOffset : 0;

    /// <summary>The number of bytes of a snapshot in memory that are read for the replica.</summary>
    public long SnapshotRead => _fed.Offset;

    /// <summary>The number of bytes of a snapshot in memory that are not sent to the replica yet.</summary>
    public long SnapshotBehind => Volatile.Read(ref _feed) is { } feed ? feed.Length - _fed.Offset : 0;

    /// <summary>The number of bytes that are kept in memory because they are not sent to the replica yet.</summary>
    public long Unsent => Behind + SnapshotBehind;

    /// <summary>
    /// Whether a part of the stream was lost for this replica. It receives nothing more, and its connection is closed.
    /// </summary>
    public bool HasGap
    {
        get => _hasGap;
        set => _hasGap = value;
    }

    public bool HasNews => Volatile.Read(ref _woken) != 0;

    public bool HasSnapshot => State >= ReplicaState.TakesSnapshot;

    public bool HasWholeSnapshot => State >= ReplicaState.LoadsSnapshot;

    /// <summary>Whether the next part of the snapshot is not taken yet.</summary>
    public bool AwaitsPart => _feed is { IsComplete: false } && _fed.Next().IsEmpty;

    /// <summary>Whether the moment of its snapshot has passed, so that the stream is kept for it.</summary>
    public bool IsMarked => _stream.IsPlaced;

    /// <summary>Waits for a snapshot, and discards the state of an earlier attempt.</summary>
    public void Await()
    {
        _stream.Clear();
        State = ReplicaState.WaitsForSnapshot;
        AwaitedSince = ServerCore.UnixMilliseconds();
    }

    /// <summary>Sets the start of its part of the stream: a position in a piece, and the offset there.</summary>
    public void StartAt(StreamPiece piece, int position, long offset)
    {
        _start = offset;
        _stream.Place(piece, position, offset);
    }

    /// <summary>Gives the replica its snapshot. The replica closes the file.</summary>
    public void Give(IDiskFile snapshot)
    {
        _snapshot = snapshot;
        MovedAt = ServerCore.UnixMilliseconds();
        State = ReplicaState.TakesSnapshot;
        Step();
    }

    /// <summary>Lets the replica read a snapshot while it is taken. It takes no memory.</summary>
    public void Give(SnapshotFeed feed, StreamPiece first)
    {
        _fed.Place(first, 0, 0);
        MovedAt = ServerCore.UnixMilliseconds();
        Volatile.Write(ref _feed, feed);
        State = ReplicaState.TakesSnapshot;
        Step();
    }

    /// <summary>Whether the replica reads this snapshot and is not at its end.</summary>
    public bool Reads(SnapshotFeed feed) => Volatile.Read(ref _feed) == feed;

    /// <summary>Whether nothing of the snapshot could be sent for some time.</summary>
    public bool IsStuck(long now, long milliseconds)
    {
        if (State != ReplicaState.TakesSnapshot) return false;
        long moved = _feed is null ? Volatile.Read(ref _snapshotSent) : _fed.Offset;
        if (moved != _seen || _feed is not null && SnapshotBehind == 0) (_seen, MovedAt) = (moved, now);
        return now - MovedAt > milliseconds;
    }

    /// <summary>Signals the connection to check for work. Any thread may call it.</summary>
    public void Step()
    {
        if (Interlocked.Exchange(ref _signalled, 1) == 0) _step.Set();
    }

    /// <summary>Waits for <see cref="Step"/>. The connection calls it until the replica has the whole snapshot.</summary>
    public async ValueTask AwaitStepAsync()
    {
        await _step.Wait();
        // Race: the exchange is a full fence. What was written before a Step that sees the 1 is visible after it.
        Interlocked.Exchange(ref _signalled, 0);
    }

    /// <summary>Writes an empty line, so that the replica does not time out while it waits.</summary>
    public void WriteSign(ReplyWriter reply) => Write(reply, "\n"u8);

    /// <summary>Writes the length of the snapshot or the mark at its end; for PSYNC, the ID and the offset of the stream precede it.</summary>
    public void WriteHead(ReplyWriter reply, string history)
    {
        string head = _feed?.Head ?? string.Create(CultureInfo.InvariantCulture, $"${_snapshot!.Length}\r\n");
        if (IsModern) head = string.Create(CultureInfo.InvariantCulture, $"+FULLRESYNC {history} {_start}\r\n{head}");
        Write(reply, Encoding.ASCII.GetBytes(head));
    }

    /// <summary>Follows without a snapshot. The replica has joined the stream already.</summary>
    public void Continue(ReplyWriter reply, string history, long now)
    {
        Write(reply, Encoding.ASCII.GetBytes(KnowsHistories ? $"+CONTINUE {history}\r\n" : "+CONTINUE\r\n"));
        Acknowledged = _start;
        Follow(now);
    }

    /// <summary>Notes a sign of life. A replica that loads a snapshot sends empty lines.</summary>
    public void Heard(long now) => AcknowledgedAt = Math.Max(AcknowledgedAt, now);

    /// <summary>Writes the next part of the snapshot; false if there is none.</summary>
    public bool WritePart(ReplyWriter reply)
    {
        if (_feed is not null) return WriteUpTo(_fed.Offset + Limits.ReplicaPart, _fed, reply);
        byte[] part = RentedArrays.Rent<byte>(FilePart);
        try
        {
            int read = _snapshot!.Read(_snapshotSent, part.AsSpan(0, FilePart));
            Write(reply, part.AsSpan(0, read));
            Volatile.Write(ref _snapshotSent, _snapshotSent + read);
            return read > 0;
        }
        finally
        {
            RentedArrays.Return(part);
        }
    }

    /// <summary>
    /// Continues after the snapshot was sent. The end of a snapshot with a mark is found only if nothing follows it, so that the stream
    /// begins with the first acknowledgement.
    /// </summary>
    public void EndSnapshot(long now)
    {
        if (_feed is null)
        {
            Follow(now);
            return;
        }
        Dispose();
        AcknowledgedAt = now;
        State = ReplicaState.LoadsSnapshot;
    }

    /// <summary>Continues with the stream.</summary>
    public void Follow(long now)
    {
        Dispose();
        AcknowledgedAt = now;
        State = ReplicaState.Follows;
        Wake();
    }

    /// <summary>Leaves the stream. The stream goes on, so that the replica can continue later. It takes no memory.</summary>
    public void Leave() => stream.Leave(this);

    public void Acknowledge(long processed, long flushed, long now)
    {
        Acknowledged = Math.Max(Acknowledged, processed);
        Flushed = Math.Max(Flushed, flushed);
        AcknowledgedAt = now;
        if (State == ReplicaState.LoadsSnapshot) Follow(now);
    }

    /// <summary>
    /// Schedules the connection because there is something to send. Any thread may call it, also under a hold.
    /// </summary>
    public void Wake()
    {
        if (State == ReplicaState.Follows && Interlocked.Exchange(ref _woken, 1) == 0) scheduler.Schedule(connection);
    }

    /// <summary>Writes the stream from the position that the replica has reached, up to the limit for one flush.</summary>
    public void WriteTo(ReplyWriter reply)
    {
        stream.BeginRead(ref _woken);
        if (State != ReplicaState.Follows || _hasGap) return;
        long most = _stream.Offset + Limits.ReplicaPart;
        WriteUpTo(most, _stream, reply);
        if (_stream.Offset >= most) Wake();
    }

    /// <summary>
    /// Whether the replica was sent a reply. That is so if the <paramref name="bytes"/> that are about to be sent are more
    /// than the bytes written here. A reply would corrupt the stream.
    /// </summary>
    public bool WasAnswered(long bytes)
    {
        bool answered = State > ReplicaState.Introduced && bytes > _unflushed;
        _unflushed = 0;
        return answered;
    }

    /// <summary>Writes what there is, and stops after an offset; false if there is nothing.</summary>
    private bool WriteUpTo(long most, PieceReader from, ReplyWriter reply)
    {
        long before = from.Offset;
        while (from.Offset < most && from.Next() is { IsEmpty: false } bytes)
        {
            Write(reply, bytes);
            from.Advance(bytes.Length);
        }
        return from.Offset > before;
    }

    private void Write(ReplyWriter reply, ReadOnlySpan<byte> bytes)
    {
        reply.Raw(bytes);
        _unflushed += bytes.Length;
    }

    public void Dispose()
    {
        if (_snapshot is { } file) CloseElsewhere(file);
        _snapshot = null;
        Volatile.Write(ref _feed, null);
    }

    /// <summary>
    /// Closes the file of a snapshot, which is deleted already. The last close frees its pages, which takes a tenth of a second for some
    /// hundred megabytes. Other connections of the event loop would wait.
    /// </summary>
    private static void CloseElsewhere(IDiskFile file)
    {
        try
        {
            new Thread(file.Dispose) { IsBackground = true, Name = "close" }.Start();
        }
        catch (Exception failure) when (FailurePolicy.IsOutOfMemory(failure))
        {
            file.Dispose();
        }
    }
}
