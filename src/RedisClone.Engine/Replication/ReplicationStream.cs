using RedisClone.Engine.Effects;

namespace RedisClone.Engine.Replication;

/// <summary>
/// A piece of the stream. Each follower references the piece that it has reached. The garbage collector frees a piece that
/// all followers have passed.
/// </summary>
internal sealed class StreamPiece
{
    public const int Size = 64 * 1024;

    private int _length;
    private StreamPiece? _next;

    public byte[] Bytes { get; } = GC.AllocateUninitializedArray<byte>(Size);

    /// <summary>The number of readable bytes.</summary>
    public int Length
    {
        get => Volatile.Read(ref _length);
        set => Volatile.Write(ref _length, value);
    }

    /// <summary>The next piece; set once this piece is full.</summary>
    public StreamPiece? Next
    {
        get => Volatile.Read(ref _next);
        set => Volatile.Write(ref _next, value);
    }
}

/// <summary>
/// The stream of effects in the format and with the offsets of Redis's replication. It is stored once, and each replica reads
/// it at its own pace. Effects are appended while the shards concerned are held.
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
    private int _database = Unselected;
    private long _offset;
    private bool _grew;

    /// <summary>The number of bytes in the stream since the server started.</summary>
    public long Offset => Volatile.Read(ref _offset);

    /// <summary>The number of bytes that are kept, which is the backlog of the slowest replica.</summary>
    public long KeptBytes
    {
        get
        {
            long most = 0;
            foreach (Replica follower in _followers) most = Math.Max(most, follower.Behind);
            return most;
        }
    }

    public bool HasFollowers => _followers.Count > 0;

    bool IEffectSink.TellsOthers => true;

    long IEffectSink.Append(EffectBuffer unit)
    {
        lock (_gate)
        {
            if (TryReserve(unit.Body.Length + MostAround))
            {
                if (unit.Commands > 1) Write("*1\r\n$5\r\nMULTI\r\n"u8);
                Select(unit.Database);
                Write(unit.Body);
                if (unit.Commands > 1) Write("*1\r\n$4\r\nEXEC\r\n"u8);
            }
        }
        WakeFollowers();
        return 0;
    }

    /// <summary>Records a gap in the stream. All followers are disconnected, and each begins again with a snapshot.</summary>
    public void Lose()
    {
        foreach (Replica follower in _followers) follower.HasGap = true;
    }

    /// <summary>
    /// Disconnects the followers for which more of the stream is kept than the heap allows. Otherwise a single slow replica would
    /// fill the heap.
    /// </summary>
    private void LoseSlow()
    {
        foreach (Replica follower in _followers)
            if (follower.Behind > Limits.ReplicaBacklog) follower.HasGap = true;
    }

    /// <summary>Appends a published message. It belongs to no database, but a stream begins with a SELECT.</summary>
    void IMessageTarget.PushNow(byte[] message)
    {
        lock (_gate)
        {
            if (TryReserve(message.Length + MostAround))
            {
                if (_database == Unselected) Select(0);
                Write(message);
            }
        }
        WakeFollowers();
    }

    /// <summary>Appends a command for the replicas themselves.</summary>
    public void Say(ReadOnlySpan<byte> command)
    {
        lock (_gate)
        {
            if (TryReserve(command.Length)) Write(command);
        }
        WakeFollowers();
    }

    /// <summary>Adds a follower at the present end of the stream. The caller holds every shard.</summary>
    public void Join(Replica replica)
    {
        lock (_gate)
        {
            // The new follower does not know the current database, so the next unit begins with a SELECT.
            _database = Unselected;
            replica.StartAt(_last, _offset);
            _followers.Add(replica);
        }
    }

    /// <summary>Removes a follower; false if none is left. It takes no memory.</summary>
    public bool Leave(Replica replica)
    {
        lock (_gate)
        {
            _followers.Remove(replica);
            return _followers.Count > 0;
        }
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
