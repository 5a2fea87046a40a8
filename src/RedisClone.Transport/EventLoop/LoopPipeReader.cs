using System.Buffers;
using System.IO.Pipelines;
using RedisClone.Memory;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// A connection's input: one pooled array that the socket is received into, always returned as one segment. The socket is read
/// only while a read waits, so the reader sets the pace. The array has one owner at a time: the event loop while a read waits,
/// the reader otherwise. A read that has to wait continues on the event loop, whichever thread began it. An empty array goes
/// back to the pool, so an idle connection holds no array.
/// </summary>
internal sealed class LoopPipeReader : PipeReader
{
    private const int LargestFirstBuffer = 256 * 1024;

    private readonly LoopConnection _connection;
    private readonly ReadPromise _read;

    private byte[]? _buffer;
    private int _start;
    private int _examined;
    private int _end;
    private int _firstBuffer = BufferPool.UsualSize;
    private bool _completed;

    /// <summary>No more input will arrive. Set by the event loop.</summary>
    private volatile bool _ended;

    public LoopPipeReader(LoopConnection connection)
    {
        _connection = connection;
        _read = new ReadPromise(this);
    }

    /// <summary>On the event loop: whether a read waits.</summary>
    public bool AwaitsInput => _read.IsArmed;

    /// <summary>Bytes of the array. Any thread may read it.</summary>
    public long Room => Volatile.Read(ref _buffer)?.Length ?? 0;

    private Loop Loop => _connection.Loop;

    private int Length => _end - _start;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        if (TryRead(out ReadResult result)) return new ValueTask<ReadResult>(result);
        if (cancellationToken.IsCancellationRequested) return ValueTask.FromCanceled<ReadResult>(cancellationToken);
        ValueTask<ReadResult> read = _read.Begin(cancellationToken);
        if (Loop.IsOnLoop) AwaitInput();
        else _read.PostWhenAwaited(static self => ((LoopPipeReader)self!).AwaitInput(), this);
        return read;
    }

    public override bool TryRead(out ReadResult result)
    {
        if (_completed) throw new InvalidOperationException("Reading is not allowed after the reader was completed.");
        bool canceled = _read.TakeCancel();
        if (!canceled && _examined == _end && !_ended)
        {
            result = default;
            return false;
        }
        result = Result(canceled);
        return true;
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (_read.IsPending) throw new InvalidOperationException("Advancing is not allowed while a read is pending.");
        int start = Index(consumed);
        int seen = Math.Max(Index(examined), _examined);
        if (_buffer is null && start == 0 && seen == 0) return;
        if (start < _start || start > seen || seen > _end)
            throw new InvalidOperationException("The position is outside of what was read.");
        AdvanceTo(start, seen);
    }

    private void AdvanceTo(int start, int seen)
    {
        _start = start;
        _examined = seen;
        if (Length == 0) ReleaseBuffer();
    }

    public override void CancelPendingRead() => _read.RequestCancel();

    public override void Complete(Exception? exception = null)
    {
        if (_completed) return;
        _completed = true;
        if (!_read.IsPending) ReleaseBuffer();
    }

    /// <summary>On the event loop, when the socket may have input: receives once if a read waits.</summary>
    public void Receive()
    {
        if (!_read.IsArmed) return;
        if (!MakeRoom())
        {
            End();
            return;
        }
        Span<byte> room = _buffer.AsSpan(_end, Math.Min(_buffer!.Length - _end, Loop.Options.MaxBytesPerTurn));
        int received = Native.Receive(_connection.Fd, room);
        if (received == -Native.Interrupted)
        {
            Loop.QueueReadable(_connection);
            return;
        }
        if (received == -Native.WouldBlock)
        {
            _connection.IsReadable = false;
            if (Length == 0) ReleaseBuffer();
            return;
        }
        if (received <= 0)
        {
            if (received < 0) _connection.OnBroken();
            End();
            return;
        }
        // A short receive emptied the socket, so another call would return nothing. Edge triggering reports the next arrival.
        // But an end of stream that was reported together with these bytes is not reported again; HasHungUp covers that case.
        _connection.IsReadable = received == room.Length || _connection.HasHungUp;
        _end += received;
        Loop.Received++;
        _connection.Work += 1 + (received >> 10);
        Loop.CountMoved(received);
        AdaptFirstBuffer();
        if (_connection.Consumer is { } consumer)
        {
            _read.Disarm();
            consumer.Take(new ArraySegment<byte>(_buffer!, _start, Length));
            return;
        }
        _read.Answer(Result(canceled: false));
    }

    /// <inheritdoc cref="IEventLoopFeature.Advance"/>
    public void Advance(int consumed, int examined) => AdvanceTo(_start + consumed, Math.Max(_start + examined, _examined));

    /// <inheritdoc cref="IEventLoopFeature.TryAwaitInput"/>
    public bool TryAwaitInput()
    {
        if (_examined != _end) return false;
        AwaitInput();
        return true;
    }

    /// <inheritdoc cref="IEventLoopFeature.CompleteRead"/>
    public void CompleteRead() => _read.Answer(Result(canceled: false));

    /// <summary>On the event loop: ends the input.</summary>
    public void End()
    {
        _ended = true;
        if (_read.IsArmed) _read.Answer(Result(canceled: false));
    }

    /// <summary>Removes the flag that the position of an array carries in its highest bit.</summary>
    private static int Index(SequencePosition position) => position.GetInteger() & int.MaxValue;

    private void AwaitInput()
    {
        _read.Arm();
        if (!_read.IsArmed) return;
        if (_ended) End();
        else if (_connection.IsReadable) Loop.QueueReadable(_connection);
    }

    private ReadResult Result(bool canceled) => new(
        _buffer is null ? ReadOnlySequence<byte>.Empty : new ReadOnlySequence<byte>(_buffer, _start, Length), canceled, _ended);

    /// <summary>Makes at least half of the array free. Returns false if the array must not grow any more.</summary>
    private bool MakeRoom()
    {
        if (_buffer is null)
        {
            _buffer = Loop.Rent(_firstBuffer);
            return true;
        }
        if (_buffer.Length - _end >= _buffer.Length / 2) return true;
        int limit = Loop.Options.MaxReadBufferBytes;
        if (Length >= limit) return false;
        if (Length <= _buffer.Length / 2)
        {
            _buffer.AsSpan(_start, Length).CopyTo(_buffer);
        }
        else
        {
            byte[] larger = Loop.Rent((int)Math.Min(_buffer.Length * 2L, Math.Max(limit, _buffer.Length)));
            _buffer.AsSpan(_start, Length).CopyTo(larger);
            Loop.Return(_buffer);
            _buffer = larger;
        }
        _examined -= _start;
        _end -= _start;
        _start = 0;
        return _end < _buffer.Length;
    }

    /// <summary>
    /// Adapts the size of the next first buffer to the amount of input: larger after much input, smaller after little.
    /// </summary>
    private void AdaptFirstBuffer()
    {
        if (_end > _firstBuffer / 2) _firstBuffer = Math.Min(_buffer!.Length * 2, LargestFirstBuffer);
        else if (_firstBuffer > BufferPool.UsualSize && _end < _firstBuffer / 4) _firstBuffer /= 2;
    }

    private void ReleaseBuffer()
    {
        if (_buffer is not null) Loop.Return(_buffer);
        _buffer = null;
        _start = _examined = _end = 0;
    }

    private sealed class ReadPromise(LoopPipeReader reader) : LoopPromise<ReadResult>(reader._connection)
    {
        protected override ReadResult CanceledAnswer => reader.Result(canceled: true);
    }
}
