using System.Text;
using RedisClone.Engine.Durability;
using RedisClone.Memory;

namespace RedisClone.Engine.Replication;

/// <summary>
/// A snapshot that replicas are sent while it is taken. It is stored once, in pieces, and each replica reads it at its own pace. The
/// walk goes on while one of them is near its end. What the others have not read yet counts to their output limits. A replica that is too
/// slow is disconnected. It delays neither clients nor the other replicas.
/// </summary>
/// <remarks>The thread of the snapshot writes. The last piece that all replicas have passed is used again.</remarks>
internal sealed class SnapshotFeed : ISnapshotOutput
{
    private const int MarkLength = 40;

    private readonly Replica[] _takers;
    private readonly byte[] _mark = Encoding.ASCII.GetBytes(Convert.ToHexStringLower(SystemRandom.GetBytes(MarkLength / 2)));
    private StreamPiece _first;         // that a replica may still read
    private StreamPiece _last;
    private long _firstEnd = StreamPiece.Size;
    private long _length;
    private bool _isComplete;

    public SnapshotFeed(Replica[] takers)
    {
        _takers = takers;
        _first = _last = new StreamPiece();
    }

    /// <summary>The number of bytes so far.</summary>
    public long Length => Volatile.Read(ref _length);

    /// <summary>Whether nothing follows.</summary>
    public bool IsComplete => Volatile.Read(ref _isComplete);

    /// <summary>The line before the snapshot. The same mark ends the snapshot.</summary>
    public string Head => $"$EOF:{Encoding.ASCII.GetString(_mark)}\r\n";

    /// <summary>Whether no replica reads it any more.</summary>
    public bool IsOver => Array.TrueForAll(_takers, taker => !taker.Reads(this));

    /// <summary>The number of replicas that are still connected.</summary>
    public int CountUp(Replicas all) => _takers.Count(all.Has);

    /// <summary>Whether a replica is near the end. The snapshot is cancelled soon if no replica reads it.</summary>
    public bool HasRoom => Array.Exists(_takers, taker => taker.Reads(this) && taker.SnapshotBehind < Limits.SnapshotLead);

    /// <summary>Lets the replicas read. It takes no memory.</summary>
    public void Begin()
    {
        foreach (Replica taker in _takers) taker.Give(this, _first);
    }

    public void Open()
    {
    }

    public void Write(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            int length = _last.Length;
            if (length == StreamPiece.Size)
            {
                _last = _last.Next = NextPiece();
                length = 0;
            }
            int fits = Math.Min(bytes.Length, StreamPiece.Size - length);
            bytes[..fits].CopyTo(_last.Bytes.AsSpan(length));
            _last.Length = length + fits;
            Volatile.Write(ref _length, _length + fits);
            bytes = bytes[fits..];
        }
        foreach (Replica taker in _takers)
        {
            if (!taker.Reads(this)) continue;
            if (taker.Unsent > Limits.ReplicaBacklog) taker.Connection.Kill();
            else taker.Connection.KillIfOverLimit();
            taker.Step();
        }
    }

    /// <summary>Adds the mark. Nothing follows.</summary>
    public void End()
    {
        Write(_mark);
        _first = _last;
        Volatile.Write(ref _isComplete, true);
        foreach (Replica taker in _takers) taker.Step();
    }

    /// <summary>Disconnects the replicas that have a part of the snapshot.</summary>
    public void Discard()
    {
        _first = _last;
        foreach (Replica taker in _takers)
        {
            if (!taker.Reads(this)) continue;
            taker.Connection.Kill();
            taker.Step();
        }
    }

    public void Dispose()
    {
    }

    /// <summary>
    /// Returns a piece that all replicas have passed, or a new one. A second such piece is dropped, so that the memory shrinks after a slow
    /// replica.
    /// </summary>
    private StreamPiece NextPiece()
    {
        if (TakePassed() is not { } piece) return new StreamPiece();
        TakePassed();
        (piece.Next, piece.Length) = (null, 0);
        return piece;
    }

    private StreamPiece? TakePassed()
    {
        // A replica that has read beyond the end of a piece references a later one.
        if (_first == _last || !Array.TrueForAll(_takers, taker => !taker.Reads(this) || taker.SnapshotRead > _firstEnd)) return null;
        StreamPiece piece = _first;
        (_first, _firstEnd) = (piece.Next!, _firstEnd + StreamPiece.Size);
        return piece;
    }
}
