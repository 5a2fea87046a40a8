using System.IO.Pipelines;
using RedisClone.Memory;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A connection's output. What is being written belongs to the side that writes; a flush hands it to the loop, which sends it when
/// the round ends. On the loop the hand-over is a move; from another thread it is a post, and while one is on its way every later
/// flush is a post too, so that the order of the bytes is the order of the flushes.
/// </summary>
internal sealed class LoopPipeWriter : PipeWriter
{
    private const int LargerChunk = 64 * 1024;
    private const int CopyBelow = 1024;

    private readonly LoopConnection _connection;
    private readonly Loop _loop;
    private readonly FlushPromise _flush;

    // Owned by the side that writes.
    private byte[]? _buffer;
    private int _written;
    private OutputChunks _filled;
    private long _unflushed;
    private bool _completed;

    // Owned by the loop; the side that writes may glance at _unsent and _blocked.
    private OutputChunks _sending;
    private long _unsent;
    private volatile bool _blocked;
    private long _blockedAt;
    private bool _finishing;

    /// <summary>Bytes posted to the loop and not yet taken by it.</summary>
    private long _posted;

    /// <summary>The peer is gone: what is written is dropped. Set by the loop.</summary>
    private volatile bool _broken;

    public LoopPipeWriter(LoopConnection connection)
    {
        _connection = connection;
        _loop = connection.Loop;
        _flush = new FlushPromise(this);
        MostUnread = _loop.Options.UnreadBytes;
    }

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => _unflushed;

    public long UnsentBytes => Volatile.Read(ref _unsent) + Volatile.Read(ref _posted);

    /// <summary>What may pile up behind a peer that does not read before a flush waits.</summary>
    public long MostUnread { get; set; }

    /// <summary>On the loop: all that was flushed has been sent, or never will be.</summary>
    public bool IsDrained => _sending.IsEmpty;

    private FlushResult Result => new(isCanceled: false, isCompleted: _broken);

    public override Memory<byte> GetMemory(int sizeHint = 0)
    {
        if (_buffer is null || _buffer.Length - _written < Math.Max(sizeHint, 1)) NextBuffer(sizeHint);
        return _buffer.AsMemory(_written);
    }

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        if (_buffer is null || _buffer.Length - _written < Math.Max(sizeHint, 1)) NextBuffer(sizeHint);
        return _buffer.AsSpan(_written);
    }

    public override void Advance(int bytes)
    {
        if ((uint)bytes > (uint)((_buffer?.Length ?? 0) - _written))
            throw new InvalidOperationException("Cannot advance past the end of the buffer.");
        _written += bytes;
        _unflushed += bytes;
    }

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        if (cancellationToken.IsCancellationRequested) return ValueTask.FromCanceled<FlushResult>(cancellationToken);
        if (_flush.TakeCancel()) return new ValueTask<FlushResult>(new FlushResult(isCanceled: true, isCompleted: _broken));

        bool direct = _loop.IsOnLoop && Volatile.Read(ref _posted) == 0;
        // Who flushes while another flush waits (a message from elsewhere) is not made to wait as well.
        long unsent = UnsentBytes + _unflushed;
        bool wait = unsent > _loop.Options.PauseWriterBytes && (_loop.RoundIsFull || !MayPileUp(unsent)) && !_broken && !_flush.IsPending;
        if (direct)
        {
            TakeWritten(ref _filled, _buffer, _written);
            ForgetWritten();
            SendTaken();
        }
        ValueTask<FlushResult> result = wait ? _flush.Begin(cancellationToken) : new ValueTask<FlushResult>(Result);
        if (direct)
        {
            if (wait) AwaitDrain();
        }
        else if (wait || _unflushed > 0)
        {
            PostWritten(wait, last: false);
        }
        return result;
    }

    public override void CancelPendingFlush() => _flush.RequestCancel();

    /// <summary>What was written still goes out, then the sending side of the socket is closed; an error drops everything.</summary>
    public override void Complete(Exception? exception = null)
    {
        if (_completed) return;
        _completed = true;
        if (exception is not null) _connection.Abort(new Microsoft.AspNetCore.Connections.ConnectionAbortedException(exception.Message, exception));
        PostWritten(wait: false, last: true);
    }

    /// <summary>On the loop, while nothing is being written: a message goes out with this round, past the side that writes.</summary>
    public void Append(ReadOnlySpan<byte> message)
    {
        if (_broken) return;
        if (_sending.IsEmpty || _sending.Last.Room < message.Length)
        {
            int usual = (int)Math.Clamp(_unsent, BufferPool.SmallestSize, LargerChunk);
            _sending.Add(new OutputChunk(_loop.Rent(Math.Max(message.Length, usual)), 0));
        }
        _sending.Last.Append(message);
        CountUnsent(message.Length);
        if (!_blocked) _loop.QueueSend(_connection);
    }

    /// <summary>On the loop, at the end of a round: sends as much as one turn allows and the socket takes.</summary>
    public void Send()
    {
        if (!_sending.IsEmpty && !_blocked && !_broken) Transmit();
        if (_blocked && !_broken && _loop.IsEnding) CutOffOrWait();
        if (_flush.IsArmed) AnswerOrWait();
        if (_finishing && _sending.IsEmpty && !_broken)
        {
            _finishing = false;
            _ = Native.Shutdown(_connection.Fd, Native.ShutdownSend);
        }
    }

    /// <summary>On the loop: the socket takes bytes again, or will say why it never will.</summary>
    public void Unblock()
    {
        if (!_blocked) return;
        _blocked = false;
        _loop.QueueSend(_connection);
    }

    /// <summary>On the loop: nothing can be sent any more.</summary>
    public void Break()
    {
        _broken = true;
        _sending.Clear(_loop);
        CountUnsent(-_unsent);
        if (_flush.IsArmed) _flush.Answer(Result);
    }

    private void Transmit()
    {
        int sent = Native.Send(_connection.Fd, _sending.Items, _loop.Options.MaxBytesPerTurn, out int asked);
        if (sent < 0 && sent != -Native.WouldBlock && sent != -Native.Interrupted)
        {
            _connection.OnBroken();
            return;
        }
        if (sent > 0)
        {
            _sending.Drop(sent, _loop);
            CountUnsent(-sent);
            _loop.CountMoved(sent);
        }
        // A send that took less than it was given has filled the socket: the next turn comes with its event.
        if (sent < asked) Volatile.Write(ref _blockedAt, Environment.TickCount64);
        _blocked = sent < asked && sent != -Native.Interrupted;
        if (_blocked || _sending.IsEmpty) _connection.WantsWritable(_blocked);
        if (!_blocked && !_sending.IsEmpty) _loop.QueueSend(_connection);
    }

    private void NextBuffer(int sizeHint)
    {
        if (_completed) throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        int usual = _unflushed > BufferPool.UsualSize ? LargerChunk : BufferPool.UsualSize;
        // If no memory can be had, the present buffer stays in use.
        byte[] next = _loop.Rent(Math.Max(sizeHint, usual));
        RetireBuffer();
        _buffer = next;
    }

    private void RetireBuffer()
    {
        if (_buffer is null) return;
        if (_written > 0) _filled.Add(new OutputChunk(_buffer, _written));
        else _loop.Return(_buffer);
        _buffer = null;
        _written = 0;
    }

    /// <summary>On the loop: takes over what was written. It stays the writer's as a whole if no memory can be had.</summary>
    private void TakeWritten(ref OutputChunks filled, byte[]? buffer, int written)
    {
        _sending.EnsureRoom(filled.Items.Length + 1);
        foreach (ref OutputChunk chunk in filled.Items) Take(chunk);
        filled.Forget();
        if (buffer is not null) Take(new OutputChunk(buffer, written));
    }

    private void SendTaken()
    {
        if (!_sending.IsEmpty && !_blocked) _loop.QueueSend(_connection);
    }

    private void Take(OutputChunk chunk)
    {
        // Many small flushes in a round (messages to a subscriber) share a chunk rather than pin one each.
        bool fits = chunk.Count <= CopyBelow && !_sending.IsEmpty && _sending.Last.Room >= chunk.Count;
        if (fits && !_broken) _sending.Last.Append(chunk.Buffer.AsSpan(chunk.Start, chunk.Count));
        if (_broken) _loop.Return(chunk.Buffer, ofMany: true);
        else if (fits || chunk.Count == 0) _loop.Return(chunk.Buffer);
        else _sending.Add(chunk);
        if (_broken) return;
        CountUnsent(chunk.Count);
        _loop.CountMoved(chunk.Count);
    }

    private void CountUnsent(long bytes)
    {
        Volatile.Write(ref _unsent, _unsent + bytes);
        _loop.CountUnsent(bytes);
    }

    /// <summary>The peer does not read, and neither it nor all together have left too much yet.</summary>
    private bool MayPileUp(long unsent) =>
        _blocked && unsent <= MostUnread && _loop.HasRoomForUnsent && Environment.TickCount64 - Volatile.Read(ref _blockedAt) >= _loop.Options.StallMilliseconds;

    private void AnswerOrWait()
    {
        if (_broken || _unsent <= _loop.Options.ResumeWriterBytes || MayPileUp(_unsent)) _flush.Answer(Result);
        else if (_blocked && _unsent <= MostUnread) _loop.LookAgain(_connection);
    }

    private void CutOffOrWait()
    {
        if (Environment.TickCount64 - _blockedAt >= _loop.Options.LastStallMilliseconds) _connection.AbortOnLoop();
        else _loop.LookAgain(_connection);
    }

    private void PostWritten(bool wait, bool last)
    {
        RetireBuffer();
        var written = new Written(this, _filled, _unflushed, wait, last);
        _filled = default;
        Interlocked.Add(ref _posted, _unflushed);
        ForgetWritten();
        try
        {
            _loop.Post(static written => ((Written)written!).Arrive(), written);
        }
        catch
        {
            // What was written is lost: nothing may follow it.
            _connection.Abort();
            throw;
        }
    }

    private void ForgetWritten()
    {
        _buffer = null;
        _written = 0;
        _unflushed = 0;
    }

    private void AwaitDrain()
    {
        _flush.Arm();
        _loop.QueueSend(_connection);
    }

    /// <summary>What a flush from another thread hands to the loop.</summary>
    private sealed class Written(LoopPipeWriter writer, OutputChunks chunks, long bytes, bool wait, bool last)
    {
        private OutputChunks _chunks = chunks;

        public void Arrive()
        {
            try
            {
                writer.TakeWritten(ref _chunks, buffer: null, written: 0);
                writer.SendTaken();
            }
            catch
            {
                // A part of what was written is missing: nothing may follow it.
                writer._connection.AbortOnLoop();
                throw;
            }
            Interlocked.Add(ref writer._posted, -bytes);
            if (last)
            {
                writer._finishing = true;
                writer._loop.QueueSend(writer._connection);
            }
            if (wait) writer.AwaitDrain();
        }
    }

    private sealed class FlushPromise(LoopPipeWriter writer) : LoopPromise<FlushResult>(writer._loop)
    {
        protected override FlushResult CanceledAnswer => new(isCanceled: true, isCompleted: writer._broken);
    }
}
