using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// The output of one event loop that waits for the <see cref="IOutputGate"/>, in the order of its flushes. Only the event loop's
/// thread uses it, except for <see cref="First"/>.
/// </summary>
internal sealed class HeldOutput
{
    private readonly Queue<Part> _parts = new();
    private long _last;
    private long _first = long.MaxValue;

    public IOutputGate? Gate { get; set; }

    /// <summary>The position of the oldest part, or <see cref="long.MaxValue"/> if there is none. Any thread may read it.</summary>
    public long First => Volatile.Read(ref _first);

    /// <summary>Makes room for one more part, so that adding it cannot fail.</summary>
    public void EnsureRoom() => _parts.EnsureCapacity(_parts.Count + 1);

    /// <summary>
    /// Adds a part. Its position is at least that of the part before, so that the parts of a connection keep their order and the
    /// queue need not be searched.
    /// </summary>
    public void Add(LoopPipeWriter writer, long bytes, long position)
    {
        _last = _parts.Count == 0 ? position : Math.Max(_last, position);
        _parts.Enqueue(new Part(writer, bytes, _last));
        if (_parts.Count == 1) Volatile.Write(ref _first, _last);
    }

    /// <summary>Passes on all parts that the gate lets through. Connections whose output never passes are aborted.</summary>
    public void Release()
    {
        if (_parts.Count == 0) return;
        // Race: the thread that opens the gate does so and then asks where output is held. A full fence on both sides ensures
        // that at least one of them sees the other's write.
        Interlocked.MemoryBarrier();
        bool isFinal = Gate!.IsFinal;
        long open = Gate.Open;
        while (_parts.TryPeek(out Part part) && (part.Position <= open || isFinal))
        {
            _parts.Dequeue();
            Pass(part, isFinal: part.Position > open);
        }
        Volatile.Write(ref _first, _parts.TryPeek(out Part next) ? next.Position : long.MaxValue);
    }

    /// <summary>Passes on a part, or aborts its connection. A failure must not lose the parts behind it.</summary>
    private static void Pass(in Part part, bool isFinal)
    {
        try
        {
            if (!isFinal)
            {
                part.Writer.Release(part.Bytes);
                return;
            }
        }
        catch (OutOfMemoryException)
        {
            // The connection lacks a part of its output.
        }
        part.Writer.Abort();
    }

    private readonly record struct Part(LoopPipeWriter Writer, long Bytes, long Position);
}
