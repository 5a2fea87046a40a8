using System.IO.Pipelines;
using RedisClone.Scheduling;
using RedisClone.Server.Net;
using RedisClone.Transport.EventLoop;
using RedisClone.Transport.InMemory;

namespace RedisClone.Benchmarks.Scaling;

/// <summary>A client that sends one batch at a time through a connection in memory and counts the bytes of the replies.</summary>
internal sealed class LoadClient : IEventLoopFeature
{
    private readonly IDuplexPipe _pipe;
    private readonly byte[][] _batches;
    private readonly int[] _replies;
    private int _next;

    public LoadClient(RedisConnectionHandler server, IEventLoop loop, byte[][] batches, int[] replies, int first)
    {
        EventLoop = loop;
        (_batches, _replies, _next) = (batches, replies, first);
        var connection = new MemoryConnection(PipeScheduler.Inline);
        connection.Features.Set<IConnectionScheduler>(loop);
        connection.Features.Set<IEventLoopFeature>(this);
        _pipe = connection.Client;
        _ = server.OnConnectedAsync(connection);
    }

    public IEventLoop EventLoop { get; }

    /// <summary>Whether a batch was sent whose replies are not complete.</summary>
    public bool IsPending { get; private set; }

    public int Descriptor => -1;

    public long UnsentBytes => 0;

    public long InputRoom => 0;

    public long OutputRoom => 0;

    public bool IsBroken => false;

    public long MostUnsent { get; set; }

    public long MostUnread { get; set; }

    /// <summary>Has no effect: the pipe in memory completes its reads.</summary>
    public IInputConsumer? Consumer { get; set; }

    public void Send()
    {
        IsPending = true;
        _next = (_next + 1) % _batches.Length;
        byte[] batch = _batches[_next];
        batch.CopyTo(_pipe.Output.GetSpan(batch.Length));
        _pipe.Output.Advance(batch.Length);
        if (!_pipe.Output.FlushAsync().AsTask().IsCompletedSuccessfully) throw new InvalidOperationException("the connection does not read a batch at once");
    }

    public bool TryFinish()
    {
        if (!_pipe.Input.TryRead(out ReadResult replies)) return false;
        if (replies.Buffer.Length > _replies[_next] || replies.IsCompleted)
            throw new InvalidOperationException($"unexpected replies: {System.Text.Encoding.ASCII.GetString(replies.Buffer.FirstSpan)}");
        bool complete = replies.Buffer.Length == _replies[_next];
        _pipe.Input.AdvanceTo(complete ? replies.Buffer.End : replies.Buffer.Start, replies.Buffer.End);
        IsPending = !complete;
        return complete;
    }

    public void Advance(int consumed, int examined) => throw new NotSupportedException();

    public bool TryAwaitInput() => throw new NotSupportedException();

    public void CompleteRead() => throw new NotSupportedException();

    public ValueTask<FlushResult> FlushHeldAsync(long position) => throw new NotSupportedException();

    public void DropUnflushed()
    {
        // The pipe in memory releases it.
    }

    public bool TrySend(ReadOnlySpan<byte> message) => throw new NotSupportedException();
}
