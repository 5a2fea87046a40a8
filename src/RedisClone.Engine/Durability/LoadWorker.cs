using RedisClone.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>A thread that loads the keys of some shards, batch by batch, in order.</summary>
internal sealed class LoadWorker<TBatch> : IDisposable where TBatch : LoadBatch, new()
{
    /// <summary>
    /// The length of the queue at which the thread that fills batches waits, until half of them are done. A wake-up for each
    /// batch would cost more than the batch itself.
    /// </summary>
    private const int MostWaiting = 8;

    /// <summary>
    /// The bytes of batches that may wait beside each other. Large values would otherwise take many times their size, which a small
    /// heap does not have.
    /// </summary>
    private const long MostWaitingBytes = 1 << 20;

    private readonly object _gate = new();
    private readonly Queue<TBatch> _waiting = new(MostWaiting);
    private readonly Stack<TBatch> _free = new(MostWaiting + 2);
    private readonly Thread _thread;
    private long _waitingBytes;
    private bool _busy;
    private bool _ended;
    private string? _error;

    public LoadWorker(string name, Func<TBatch, string?> run)
    {
        _thread = new Thread(() => Work(run)) { IsBackground = true, Name = name };
        _thread.Start();
    }

    /// <summary>The batch that is being filled. It belongs to the filling thread until <see cref="HandOver"/>.</summary>
    public TBatch Filling { get; private set; } = new();

    /// <summary>The reason why loading cannot continue, else null.</summary>
    public string? Error
    {
        get
        {
            lock (_gate) return _error;
        }
    }

    /// <summary>Whether all batches that were handed over are done.</summary>
    public bool IsIdle
    {
        get
        {
            lock (_gate) return _waiting.Count == 0 && !_busy;
        }
    }

    /// <summary>
    /// Hands <see cref="Filling"/> over to the thread. False if an earlier batch has failed. If there is no memory for the next batch, it
    /// throws and has done nothing.
    /// </summary>
    public bool HandOver()
    {
        TBatch? next;
        lock (_gate)
        {
            if (_waiting.Count == MostWaiting)
                while (_waiting.Count > MostWaiting / 2) Monitor.Wait(_gate);
            if (_waitingBytes + Filling.Size > MostWaitingBytes)
                while (_waiting.Count > 0 || _busy) Monitor.Wait(_gate);
            _free.TryPop(out next);
        }
        // The allocation may wait for memory, which the thread releases meanwhile.
        next ??= new TBatch();
        lock (_gate)
        {
            _waiting.Enqueue(Filling);
            _waitingBytes += Filling.Size;
            // The thread sleeps only if the queue was empty. The two threads never wait at the same time, so the pulse
            // reaches the right one.
            if (_waiting.Count == 1) Monitor.Pulse(_gate);
            Filling = next;
            return _error is null;
        }
    }

    /// <summary>Waits until all batches that were handed over are done.</summary>
    public void WaitUntilIdle()
    {
        lock (_gate)
            while (_waiting.Count > 0 || _busy) Monitor.Wait(_gate);
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _ended = true;
            Monitor.Pulse(_gate);
        }
        _thread.Join();
    }

    private void Work(Func<TBatch, string?> run)
    {
        using HeapRelief.Patience patience = HeapRelief.BePatient();
        for (TBatch? batch = null; (batch = Next(batch)) is not null;)
        {
            string? error;
            try
            {
                // After an error, the batches that still wait are dropped: their data would not be used.
                error = Error is null ? run(batch) : null;
                batch.Clear();
            }
            catch (OutOfMemoryException)
            {
                error = LoadRoom.LacksMemory;
            }
            catch (Exception bug)
            {
                error = bug.ToString();
            }
            if (error is not null) Fail(error);
        }
    }

    private void Fail(string error)
    {
        lock (_gate) _error = error;
    }

    /// <summary>Recycles the batch that is done and takes the next one; null at the end.</summary>
    private TBatch? Next(TBatch? done)
    {
        lock (_gate)
        {
            if (done is not null) _free.Push(done);
            _busy = false;
            if (_waiting.Count is 0 or MostWaiting / 2) Monitor.Pulse(_gate);
            while (_waiting.Count == 0 && !_ended) Monitor.Wait(_gate);
            _busy = _waiting.TryDequeue(out TBatch? next);
            _waitingBytes -= next?.Size ?? 0;
            return next;
        }
    }
}
