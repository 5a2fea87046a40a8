using RedisClone.Server.Net;

namespace RedisClone.Server.Replication;

/// <summary>A part of the stream. Whoever follows holds the part that it is at; what all have passed is the collector's.</summary>
internal sealed class StreamPiece
{
    public const int Size = 64 * 1024;

    private int _length;
    private StreamPiece? _next;

    public byte[] Bytes { get; } = GC.AllocateUninitializedArray<byte>(Size);

    /// <summary>Bytes that are there to be read.</summary>
    public int Length
    {
        get => Volatile.Read(ref _length);
        set => Volatile.Write(ref _length, value);
    }

    /// <summary>Set once this one is full.</summary>
    public StreamPiece? Next
    {
        get => Volatile.Read(ref _next);
        set => Volatile.Write(ref _next, value);
    }
}

/// <summary>
/// The effects as replicas get them, in the form and with the offsets of Redis: kept once, read by each at its own pace. Written under the holds of the
/// shards concerned.
/// </summary>
internal sealed class ReplicationStream : IEffectSink, IMessageTarget
{
    private const int Unselected = -1;

    /// <summary>MULTI, SELECT and EXEC around a unit.</summary>
    private const int MostAround = 128;

    private readonly Lock _gate = new();
    private StreamPiece _last = new();
    private StreamPiece? _spare;        // set aside and not used yet
    private Replica[] _followers = [];
    private int _database = Unselected;
    private long _offset;
    private bool _grew;

    /// <summary>Bytes of the stream since the server started.</summary>
    public long Offset => Volatile.Read(ref _offset);

    /// <summary>Bytes of it that are kept: what the one furthest behind has not been sent.</summary>
    public long KeptBytes
    {
        get
        {
            long most = 0;
            foreach (Replica follower in _followers) most = Math.Max(most, follower.Behind);
            return most;
        }
    }

    public bool HasFollowers => _followers.Length > 0;

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

    /// <summary>The stream has a gap: its followers are disconnected, and each begins again with a snapshot.</summary>
    public void Lose()
    {
        foreach (Replica follower in _followers) follower.HasGap = true;
    }

    /// <summary>A message that was published: it belongs to no database, but a stream begins with one.</summary>
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

    /// <summary>Says something to the replicas themselves.</summary>
    public void Say(ReadOnlySpan<byte> command)
    {
        lock (_gate)
        {
            if (TryReserve(command.Length)) Write(command);
        }
        WakeFollowers();
    }

    /// <summary>From here on the replica gets everything. The caller holds every shard.</summary>
    public void Join(Replica replica)
    {
        lock (_gate)
        {
            // It does not know yet of which database we speak.
            _database = Unselected;
            replica.StartAt(_last, _offset);
            _followers = [.. _followers, replica];
        }
    }

    /// <summary>False when nobody follows any more.</summary>
    public bool Leave(Replica replica)
    {
        lock (_gate)
        {
            _followers = [.. _followers.Where(follower => follower != replica)];
            return _followers.Length > 0;
        }
    }

    private void WakeFollowers()
    {
        bool grew = _grew;
        _grew = false;
        foreach (Replica follower in _followers)
        {
            // Outside of the gate: a connection that ends takes other locks.
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
    /// Sets aside the pieces for so many bytes before any of them is written. Where there is no memory for them, the replicas
    /// have lost a part of the stream: they are let go, and ask for everything again.
    /// </summary>
    private bool TryReserve(int bytes)
    {
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
