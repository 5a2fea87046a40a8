using System.IO.Pipelines;
using RedisClone.Memory;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A connection's output. The writer owns the bytes until a flush hands them to the event loop, which sends them at the end of
/// the round. On the event loop a flush moves the chunks directly; from another thread it posts them. While a post is pending,
/// every later flush is a post too, so that the bytes keep the order of the flushes. Held output stays with the event loop until
/// its gate opens.
/// </summary>
internal sealed class LoopPipeWriter : PipeWriter
{
    private const int LargerChunk = 64 * 1024;
    private const int CopyBelow = 1024;

    private readonly LoopConnection _connection;
    private readonly FlushPromise _flush;

    // Owned by the writer.
    private byte[]? _buffer;
    private int _written;
    private OutputChunks _filled;
    private long _unflushed;
    private bool _completed;

    // Owned by the event loop. The writer may read _unsent and _blocked; the values may be outdated.
    private OutputChunks _sending;
    private long _unsent;
    private long _held;                      // the last bytes of _unsent, which wait for the gate
    private volatile bool _blocked;
    private long _blockedAt;
    private bool _finishing;

    /// <summary>Bytes that were posted to the event loop and not yet taken by it.</summary>
    private long _posted;

    /// <summary>Set by the event loop.</summary>
    private volatile bool _broken;

    public LoopPipeWriter(LoopConnection connection)
    {
        _connection = connection;
        _flush = new FlushPromise(this);
        MostUnsent = Loop.Options.PauseWriterBytes;
        MostUnread = Loop.Options.UnreadBytes;
    }

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => _unflushed;

    public long UnsentBytes => Volatile.Read(ref _unsent) + Volatile.Read(ref _posted);

    /// <inheritdoc cref="ILoopSocketFeature.OutputRoom"/>
    public long Room
    {
        get
        {
            long room = _sending.Room + Volatile.Read(ref _posted) + _filled.Room + (Volatile.Read(ref _buffer)?.Length ?? 0);
            return _blocked || Volatile.Read(ref _held) > 0 || room > BufferPool.UsualSize ? room : 0;
        }
    }

    /// <summary>A flush waits when the unsent output exceeds this size.</summary>
    public long MostUnsent { get; set; }

    /// <summary>A flush waits when the unsent output exceeds this size, even if the peer does not read.</summary>
    public long MostUnread { get; set; }

    /// <summary>On the event loop: all flushed output was sent or dropped.</summary>
    public bool IsDrained => _sending.IsEmpty;

    /// <summary>The peer is gone, and further output is dropped. Any thread may read it.</summary>
    public bool IsBroken => _broken;

    /// <summary>On the event loop: the socket does not take bytes.</summary>
    public bool IsBlocked => _blocked;

    private Loop Loop => _connection.Loop;

    private bool MaySend => _unsent > _held && !_blocked;

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

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default) => FlushAsync(position: 0, cancellationToken);

    /// <inheritdoc cref="IEventLoopFeature.FlushHeldAsync"/>
    public ValueTask<FlushResult> FlushHeldAsync(long position) => FlushAsync(position, CancellationToken.None);

    private ValueTask<FlushResult> FlushAsync(long position, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested) return ValueTask.FromCanceled<FlushResult>(cancellationToken);
        if (_flush.TakeCancel()) return new ValueTask<FlushResult>(new FlushResult(isCanceled: true, isCompleted: _broken));

        bool direct = Loop.IsOnLoop && Volatile.Read(ref _posted) == 0;
        // A flush does not wait while another flush waits: a second flush carries a message from another thread.
        long unsent = UnsentBytes + _unflushed;
        bool wait = unsent > MostUnsent && (Loop.RoundIsFull || !MayPileUp(unsent)) && !_broken && !_flush.IsPending;
        if (direct)
        {
            TakeWritten(ref _filled, _buffer, _written, position);
            ForgetWritten();
            if (MaySend) Loop.QueueSend(_connection);
        }
        ValueTask<FlushResult> result = wait ? _flush.Begin(cancellationToken) : new ValueTask<FlushResult>(Result);
        if (direct && wait) AwaitDrain();
        else if (!direct && (wait || _unflushed > 0)) PostWritten(position, wait, last: false);
        return result;
    }

    /// <inheritdoc cref="IEventLoopFeature.DropUnflushed"/>
    public void DropUnflushed()
    {
        _filled.Clear(Loop);
        if (_buffer is not null) Loop.Return(_buffer, ofMany: true);
        ForgetWritten();
    }

    public override void CancelPendingFlush() => _flush.RequestCancel();

    /// <summary>
    /// Sends the remaining output and then shuts down the sending side of the socket. An error drops the output.
    /// </summary>
    public override void Complete(Exception? exception = null)
    {
        if (_completed) return;
        _completed = true;
        if (exception is not null) _connection.Abort(new Microsoft.AspNetCore.Connections.ConnectionAbortedException(exception.Message, exception));
        PostWritten(position: 0, wait: false, last: true);
    }

    /// <summary>
    /// On the event loop, while the writer is idle: adds a message that is sent with this round, without the pipe. Returns false if
    /// output that was posted to the event loop has not arrived, because the message would overtake it.
    /// </summary>
    public bool TryAppend(ReadOnlySpan<byte> message)
    {
        if (Volatile.Read(ref _posted) != 0) return false;
        if (_broken) return true;
        if (_held > 0) Loop.Held.EnsureRoom();
        if (_sending.IsEmpty || _sending.Last.Room < message.Length)
        {
            int usual = (int)Math.Clamp(_unsent, BufferPool.SmallestSize, LargerChunk);
            _sending.Add(new OutputChunk(Loop.Rent(Math.Max(message.Length, usual)), 0));
        }
        _sending.Last.Append(message);
        CountUnsent(message.Length);
        if (_held > 0) Hold(message.Length, position: 0);
        if (MaySend) Loop.QueueSend(_connection);
        return true;
    }

    /// <summary>
    /// On the event loop, at the end of a round: sends up to one turn's bytes, as far as the socket takes them.
    /// </summary>
    public void Send()
    {
        if (MaySend && !_broken) Transmit();
        if (_blocked && !_broken && Loop.IsEnding) CutOffOrWait();
        if (_flush.IsArmed) AnswerOrWait();
        if (_finishing && _sending.IsEmpty && !_broken)
        {
            _finishing = false;
            _ = Native.Shutdown(_connection.Fd, Native.ShutdownSend);
        }
    }

    /// <summary>On the event loop: the socket takes bytes again, or the next call on it returns an error.</summary>
    public void Unblock()
    {
        if (!_blocked) return;
        _blocked = false;
        Loop.QueueSend(_connection);
    }

    /// <summary>On the event loop: the gate has opened for the next bytes that were held.</summary>
    public void Release(long bytes)
    {
        if (_broken) return;
        Volatile.Write(ref _held, _held - bytes);
        if (MaySend) Loop.QueueSend(_connection);
    }

    /// <summary>On the event loop: the gate will not open for held output, so no later output may follow it.</summary>
    public void Abort() => _connection.AbortOnLoop();

    /// <summary>On the event loop: drops the output, because nothing can be sent any more.</summary>
    public void Break()
    {
        _broken = true;
        _sending.Clear(Loop);
        CountUnsent(-_unsent);
        Volatile.Write(ref _held, 0);
        if (_flush.IsArmed) _flush.Answer(Result);
    }

    private void Transmit()
    {
        int limit = (int)Math.Min(Loop.Options.MaxBytesPerTurn, _unsent - _held);
        int sent = Native.Send(_connection.Fd, _sending.Items, limit, out int asked);
        if (sent < 0 && sent != -Native.WouldBlock && sent != -Native.Interrupted)
        {
            _connection.OnBroken();
            return;
        }
        if (sent > 0)
        {
            _sending.Drop(sent, Loop);
            CountUnsent(-sent);
            Loop.CountMoved(sent);
        }
        // A send that took fewer bytes than it was given has filled the socket. An event reports when it has room again.
        if (sent < asked) Volatile.Write(ref _blockedAt, Environment.TickCount64);
        _blocked = sent < asked && sent != -Native.Interrupted;
        if (!MaySend) _connection.WantsWritable(_blocked);
        else Loop.QueueSend(_connection);
    }

    private void NextBuffer(int sizeHint)
    {
        if (_completed) throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        int usual = _unflushed > BufferPool.UsualSize ? LargerChunk : BufferPool.UsualSize;
        // Rents first: if memory cannot be had, the present buffer stays in use.
        byte[] next = Loop.Rent(Math.Max(sizeHint, usual));
        RetireBuffer();
        _buffer = next;
    }

    private void RetireBuffer()
    {
        if (_buffer is null) return;
        if (_written > 0) _filled.Add(new OutputChunk(_buffer, _written));
        else Loop.Return(_buffer);
        _buffer = null;
        _written = 0;
    }

    /// <summary>
    /// On the event loop: takes over the written chunks. If memory cannot be had, all of them stay with the writer.
    /// </summary>
    private void TakeWritten(ref OutputChunks filled, byte[]? buffer, int written, long position)
    {
        bool hold = position > 0 || _held > 0;
        if (hold) Loop.Held.EnsureRoom();
        _sending.EnsureRoom(filled.Items.Length + 1);
        long before = _unsent;
        foreach (ref OutputChunk chunk in filled.Items) Take(chunk);
        filled.Forget();
        if (buffer is not null) Take(new OutputChunk(buffer, written));
        if (hold) Hold(_unsent - before, position);
    }

    private void Hold(long bytes, long position)
    {
        if (bytes == 0 || _broken) return;
        Volatile.Write(ref _held, _held + bytes);
        Loop.Held.Add(this, bytes, position);
    }

    private void Take(OutputChunk chunk)
    {
        // Small flushes of one round (messages to a subscriber, for example) share a chunk, so that each does not pin its own.
        bool fits = chunk.Count <= CopyBelow && !_sending.IsEmpty && _sending.Last.Room >= chunk.Count;
        if (fits && !_broken) _sending.Last.Append(chunk.Buffer.AsSpan(chunk.Start, chunk.Count));
        if (_broken) Loop.Return(chunk.Buffer, ofMany: true);
        else if (fits || chunk.Count == 0) Loop.Return(chunk.Buffer);
        else _sending.Add(chunk);
        if (_broken) return;
        CountUnsent(chunk.Count);
        Loop.CountMoved(chunk.Count);
    }

    private void CountUnsent(long bytes)
    {
        Volatile.Write(ref _unsent, _unsent + bytes);
        Loop.CountUnsent(bytes);
    }

    /// <summary>The peer does not read, and neither its own limit nor the limit of all connections is exceeded.</summary>
    private bool MayPileUp(long unsent) =>
        _blocked && unsent <= MostUnread && Loop.HasRoomForUnsent
        && Environment.TickCount64 - Volatile.Read(ref _blockedAt) >= Loop.Options.StallMilliseconds;

    private void AnswerOrWait()
    {
        if (_broken || _unsent <= Math.Min(Loop.Options.ResumeWriterBytes, MostUnsent) || MayPileUp(_unsent)) _flush.Answer(Result);
        else if (_blocked && _unsent <= MostUnread) Loop.LookAgain(_connection);
    }

    private void CutOffOrWait()
    {
        if (Environment.TickCount64 - _blockedAt >= Loop.Options.LastStallMilliseconds) _connection.AbortOnLoop();
        else Loop.LookAgain(_connection);
    }

    private void PostWritten(long position, bool wait, bool last)
    {
        RetireBuffer();
        var written = new Written(this, _filled, _unflushed, position, wait, last);
        _filled = default;
        Interlocked.Add(ref _posted, _unflushed);
        ForgetWritten();
        try
        {
            _connection.Post(static written => ((Written)written!).Arrive(), written);
        }
        catch
        {
            // The written output is lost, so no later output may follow it.
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
        Loop.QueueSend(_connection);
    }

    /// <summary>The output of a flush from another thread, on its way to the event loop.</summary>
    private sealed class Written(LoopPipeWriter writer, OutputChunks chunks, long bytes, long position, bool wait, bool last)
    {
        private OutputChunks _chunks = chunks;

        public void Arrive()
        {
            try
            {
                writer.TakeWritten(ref _chunks, buffer: null, written: 0, position);
                if (writer.MaySend) writer.Loop.QueueSend(writer._connection);
            }
            catch
            {
                // A part of the written output is missing, so no later output may follow it. A flush that waits for it is answered.
                writer._connection.AbortOnLoop();
                if (wait) writer._flush.Arm();
                writer.Break();
                throw;
            }
            Interlocked.Add(ref writer._posted, -bytes);
            if (last)
            {
                writer._finishing = true;
                writer.Loop.QueueSend(writer._connection);
            }
            if (wait) writer.AwaitDrain();
        }
    }

    private sealed class FlushPromise(LoopPipeWriter writer) : LoopPromise<FlushResult>(writer._connection)
    {
        protected override FlushResult CanceledAnswer => new(isCanceled: true, isCompleted: writer._broken);
    }
}
