using RedisClone.Engine.Effects;

namespace RedisClone.Engine.Replication;

/// <summary>
/// The stream of effects in the format and with the offsets of Redis's replication. It is stored once, and each replica reads
/// it at its own pace. On a primary, effects are appended while the shards concerned are held. On a replica, the bytes of its
/// primary are passed on unchanged. The last bytes are kept as a backlog, so that a replica that comes back can continue.
/// </summary>
internal sealed class ReplicationStream : IEffectSink, IMessageTarget
{
    private const int Unselected = -1;

    /// <summary>An upper bound for MULTI, SELECT and EXEC around a unit of effects.</summary>
    private const int MostAround = 128;

    private readonly Lock _gate = new();
    private StreamPiece _last = new();
    private StreamPiece? _spare;        // allocated in advance and not used yet
    private readonly SharedList<Replica> _followers = [];
    private StreamPiece _first;         // of the backlog
    private long _firstOffset;          // at the beginning of that piece
    private long _from;                 // the lowest offset from which the stream has no gap
    private int _database = Unselected;
    private long _offset;
    private bool _grew;
    private bool _obeys;                // the stream is that of a primary, and nothing of this server's own is added
    private volatile bool _isOpen;

    public ReplicationStream() => _first = _last;

    /// <summary>The number of bytes in the stream since its history began.</summary>
    public long Offset => Volatile.Read(ref _offset);

    /// <summary>Whether the stream is recorded. It begins with the first replica, or with the copy of a primary's data.</summary>
    public bool IsOpen => _isOpen;

    /// <summary>The number of bytes that are kept for replicas that come back.</summary>
    public long BacklogSize { get; set; } = 1 << 20;

    /// <summary>
    /// The lowest offset after which a replica can continue. It is lower than the size of the backlog demands while a slow replica needs
    /// earlier bytes, which are in memory anyway.
    /// </summary>
    public long BacklogStart
    {
        get
        {
            long start = Offset - BacklogSize;
            foreach (Replica follower in _followers) start = Math.Min(start, follower.SentOffset);
            // A backlog whose size was raised does not reach back to what was dropped before.
            return Math.Max(Math.Max(Volatile.Read(ref _from), Volatile.Read(ref _firstOffset)), start);
        }
    }

    /// <summary>The number of bytes that are kept, which is the backlog of the slowest replica.</summary>
    public long KeptBytes
    {
        get
        {
            long most = 0;
            foreach (Replica follower in _followers) most = Math.Max(most, follower.Unsent);
            return most;
        }
    }

    public bool HasFollowers => _followers.Count > 0;

    bool IEffectSink.TellsOthers => true;

    long IEffectSink.Append(EffectBuffer unit)
    {
        bool wakes;
        lock (_gate)
        {
            ReadOnlySpan<byte> body = unit.Body;
            if (TryReserve(body.Length + MostAround))
            {
                if (unit.Commands > 1) Write("*1\r\n$5\r\nMULTI\r\n"u8);
                Select(unit.Database);
                Write(body);
                if (unit.Commands > 1) Write("*1\r\n$4\r\nEXEC\r\n"u8);
            }
            else
            {
                Skip(1);
            }
            wakes = MustWake();
        }
        if (wakes) WakeFollowers();
        return 0;
    }

    /// <summary>Records a gap in the stream. All followers are disconnected, and each begins again with a snapshot.</summary>
    public void Lose()
    {
        foreach (Replica follower in _followers) follower.HasGap = true;
    }

    /// <summary>Begins to record the stream of a primary. The caller holds every shard.</summary>
    public void Open()
    {
        lock (_gate)
        {
            if (!_isOpen) Begin(_offset);
        }
    }

    /// <summary>
    /// Adds nothing of this server's own any more, unless the stream is longer than this. The next bytes are those of a primary.
    /// </summary>
    public bool TryObeyAt(long offset)
    {
        lock (_gate) return _offset == offset && (_obeys = true);
    }

    /// <summary>Adds nothing of this server's own any more. The next bytes are those of a primary.</summary>
    public void Obey()
    {
        lock (_gate) _obeys = true;
    }

    /// <summary>The offset, and the database that the stream is in there. The caller holds every shard.</summary>
    public (long Offset, int Database) End
    {
        get
        {
            lock (_gate) return (_offset, Math.Max(0, _database));
        }
    }

    /// <summary>
    /// Adds effects of this server again. The first unit begins with a SELECT, because the bytes so far came from another server.
    /// </summary>
    public void Lead()
    {
        lock (_gate) (_obeys, _database) = (false, Unselected);
    }

    /// <summary>Begins again at an offset, because the data was replaced. The followers have lost the stream.</summary>
    public void Restart(long offset)
    {
        lock (_gate)
        {
            Lose();
            Begin(offset);
        }
    }

    /// <summary>Ends the recording and frees the backlog.</summary>
    public void Close()
    {
        lock (_gate)
        {
            Lose();
            _isOpen = false;
            Begin(_offset, opens: false);
        }
    }

    private void Begin(long offset, bool opens = true)
    {
        // A new piece: followers that have not left yet still read the old one.
        _first = _last = new StreamPiece();
        _firstOffset = _from = offset;
        Volatile.Write(ref _offset, offset);
        _database = Unselected;
        _isOpen = opens;
    }

    /// <summary>Appends bytes of the stream of this server's primary.</summary>
    public void Pass(ReadOnlySpan<byte> bytes)
    {
        bool wakes;
        lock (_gate)
        {
            if (TryReserve(bytes.Length)) Write(bytes);
            else Skip(bytes.Length);
            wakes = MustWake();
        }
        if (wakes) WakeFollowers();
    }

    /// <summary>Advances past bytes that could not be stored. No replica can continue from before them.</summary>
    private void Skip(int bytes)
    {
        Volatile.Write(ref _offset, _offset + bytes);
        (_first, _firstOffset) = (_last, _offset - _last.Length);
        Volatile.Write(ref _from, _offset);
    }

    /// <summary>
    /// Disconnects the followers for which more of the stream is kept than the heap allows. Otherwise a single slow replica would
    /// fill the heap.
    /// </summary>
    private void LoseSlow()
    {
        foreach (Replica follower in _followers)
            if (follower.Unsent > Limits.ReplicaBacklog) follower.HasGap = true;
    }

    bool IMessageTarget.IsTooMuch(long bytes) => false;

    /// <summary>Appends a published message. It belongs to no database, but a stream begins with a SELECT.</summary>
    void IMessageTarget.PushNow(byte[] message, long lsn)
    {
        bool wakes;
        lock (_gate)
        {
            if (_obeys) return;
            if (TryReserve(message.Length + MostAround))
            {
                if (_database == Unselected) Select(0);
                Write(message);
            }
            else
            {
                Skip(1);
            }
            wakes = MustWake();
        }
        if (wakes) WakeFollowers();
    }

    /// <summary>Appends a command for the replicas themselves.</summary>
    public void Say(ReadOnlySpan<byte> command)
    {
        bool wakes;
        lock (_gate)
        {
            if (!_obeys && TryReserve(command.Length)) Write(command);
            wakes = MustWake();
        }
        if (wakes) WakeFollowers();
    }

    /// <summary>Adds a follower at the present end of the stream. The caller holds every shard.</summary>
    public void Join(Replica replica)
    {
        lock (_gate)
        {
            // The new follower does not know the current database, so the next unit begins with a SELECT.
            _database = Unselected;
            replica.StartAt(_last, _last.Length, _offset);
            _followers.Add(replica);
        }
    }

    /// <summary>Adds a follower that has the stream up to an offset. False if the backlog does not reach back that far.</summary>
    public bool TryJoinAt(Replica replica, long offset)
    {
        lock (_gate)
        {
            if (!_isOpen || offset < BacklogStart || offset > _offset) return false;
            StreamPiece piece = _first;
            long start = _firstOffset;
            while (offset > start + piece.Length) (start, piece) = (start + piece.Length, piece.Next!);
            replica.StartAt(piece, (int)(offset - start), offset);
            _followers.Add(replica);
            return true;
        }
    }

    /// <summary>Removes a follower. It takes no memory.</summary>
    public void Leave(Replica replica)
    {
        lock (_gate)
        {
            _followers.Remove(replica);
            Trim();
        }
    }

    /// <summary>Frees the pieces that are not part of the backlog any more. It takes no memory.</summary>
    public void Trim()
    {
        lock (_gate)
        {
            long start = BacklogStart;
            while (_first != _last && _firstOffset + _first.Length <= start)
            {
                StreamPiece trimmed = _first;
                (_firstOffset, _first) = (_firstOffset + trimmed.Length, trimmed.Next!);
                if (_spare is null && AllArePast(_firstOffset)) (trimmed.Next, trimmed.Length, _spare) = (null, 0, trimmed);
            }
        }
    }

    /// <summary>
    /// Whether no follower refers to a piece that ends at this offset. A follower that has read exactly to the end may refer to it.
    /// </summary>
    private bool AllArePast(long offset)
    {
        foreach (Replica follower in _followers)
            if (follower.SentOffset <= offset) return false;
        return true;
    }

    /// <summary>
    /// Whether a follower does not know yet that the stream has grown, or must be looked at. The caller holds the gate and has appended.
    /// </summary>
    private bool MustWake()
    {
        if (_grew) return true;
        foreach (Replica follower in _followers)
            if (!follower.HasNews || follower.HasGap) return true;
        return false;
    }

    /// <summary>
    /// Notes that a follower is about to read. Race: this and <see cref="MustWake"/> run under the gate. Either the appending thread finds
    /// that the follower must be woken, or the follower sees what was appended.
    /// </summary>
    public void BeginRead(ref int woken)
    {
        lock (_gate) Volatile.Write(ref woken, 0);
    }

    private void WakeFollowers()
    {
        bool grew = _grew;
        _grew = false;
        foreach (Replica follower in _followers)
        {
            // Called without the lock, because closing a connection takes other locks.
            if (follower.HasGap) follower.Connection.Kill();
            follower.Wake();
            if (grew) follower.Connection.KillIfOverLimit();
        }
    }

    private void Select(int database)
    {
        if (database == _database) return;
        _database = database;
        if (database < 0) return;
        Span<byte> digits = stackalloc byte[11];
        System.Buffers.Text.Utf8Formatter.TryFormat(database, digits, out int count);
        Write("*2\r\n$6\r\nSELECT\r\n$"u8);
        Write([(byte)('0' + count)]);
        Write("\r\n"u8);
        Write(digits[..count]);
        Write("\r\n"u8);
    }

    private void Write(ReadOnlySpan<byte> bytes)
    {
        Volatile.Write(ref _offset, _offset + bytes.Length);
        while (true)
        {
            int length = _last.Length;
            int fits = Math.Min(bytes.Length, _last.Bytes.Length - length);
            bytes[..fits].CopyTo(_last.Bytes.AsSpan(length));
            _last.Length = length + fits;
            bytes = bytes[fits..];
            if (bytes.IsEmpty) return;
            _grew = true;
            StreamPiece next = _spare!;
            (_spare, next.Next) = (next.Next, null);
            _last = _last.Next = next;
            Trim();
        }
    }

    /// <summary>
    /// Allocates the pieces for this many bytes before any of them is written. If there is no memory, the followers have lost
    /// a part of the stream: they are disconnected and ask for a full copy again.
    /// </summary>
    private bool TryReserve(int bytes)
    {
        if (Limits.ReplicaBacklog != long.MaxValue) LoseSlow();
        int room = _last.Bytes.Length - _last.Length;
        for (StreamPiece? spare = _spare; spare is not null; spare = spare.Next) room += spare.Bytes.Length;
        try
        {
            for (; room < bytes; room += StreamPiece.Size) _spare = new StreamPiece { Next = _spare };
            return true;
        }
        catch (OutOfMemoryException)
        {
            _spare = null;
            Lose();
            return false;
        }
    }
}
