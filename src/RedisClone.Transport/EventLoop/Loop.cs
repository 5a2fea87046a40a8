using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using RedisClone.Memory;
using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>A receiver of the event loop's epoll events.</summary>
internal interface ILoopTarget
{
    void OnEvents(uint events);

    void OnLoopStopping();
}

/// <summary>
/// An epoll instance and the thread that serves it; <see cref="IEventLoop"/> describes its rounds. Descriptors are watched
/// edge-triggered: a round asks the kernel once for new events, and the event loop remembers which connections have unfinished
/// work. Each step of a round takes its work from a queue, so another thread can continue at any call that left the loop.
/// </summary>
internal sealed partial class Loop : IEventLoop
{
    /// <summary>
    /// Limits how long the first reply of a round waits for the last request, and how many replies accumulate.
    /// </summary>
    private const int EventsPerRound = 128;

    /// <summary>
    /// The number of connections that receive messages, as opposed to replies, in one round. A large audience is served in
    /// slices. Between slices the event loop serves new requests, and messages that these publish share a send with messages
    /// that are still unsent.
    /// </summary>
    private const int MessagesPerRound = 64;

    /// <summary>The number of failed rounds in a row after which the process ends.</summary>
    private const int RoundsThatMayFail = 100;

    private readonly ILogger _log;
    private readonly LoopBalance _balance;
    private readonly LoopThreads _threads;
    private readonly int _epoll = Native.CreateEpoll();
    private readonly int _wakeup = Native.CreateWakeup();
    private readonly byte[] _events = new byte[EventsPerRound * Native.EventBytes];
    private readonly BufferPool _pool = new();
    private readonly ConcurrentQueue<Callback> _posted = new();
    private readonly Queue<Callback> _endOfRound = new();
    private readonly Queue<Work> _gathered = new(), _postponed = new();
    private readonly List<int> _closing = [];
    private readonly Queue<LoopConnection> _readable = new(), _toSend = new(), _toSendLast = new();
    private readonly List<LoopConnection> _stalled = [];

    /// <summary>On the event loop: flushed output that waits for the gate.</summary>
    public HeldOutput Held { get; } = new();

    private ILoopTarget?[] _targets = new ILoopTarget?[256];
    private int _eventCount, _nextEvent;      // the received events that are not dispatched yet
    private int _sleeping;
    private int _connections;
    private long _rounds;
    private long _unsent;
    private long _moved;
    private long _roundIsFull;
    private long _lookAtStalled;
    private volatile bool _stopping;

    public Loop(int number, EventLoopOptions options, LoopBalance balance, ILogger log)
    {
        if (_epoll < 0 || _wakeup < 0) throw new IOException($"Cannot create an event loop: errno {-Math.Min(_epoll, _wakeup)}.");
        Number = number;
        Options = options;
        Load = new LoopLoad(this);
        _balance = balance;
        _log = log;
        _threads = new LoopThreads(number, Serve);
        TryAdd(_wakeup, Native.EpollIn | Native.EpollEdge, target: null);
    }

    public int Number { get; }

    public EventLoopOptions Options { get; }

    public LoopLoad Load { get; }

    /// <summary>On the event loop: the connections that it watches.</summary>
    public IEnumerable<LoopConnection> Watched => _targets.OfType<LoopConnection>();

    public IOutputGate? OutputGate
    {
        get => Held.Gate;
        set => Held.Gate = value;
    }

    public long FirstHeld => Held.First;

    public bool IsOnLoop => _threads.IsServing;

    /// <summary>On the event loop: the number of receives that returned data.</summary>
    public long Received { get; set; }

    /// <summary>Connections that were assigned to this event loop and are not closed.</summary>
    public int Connections => Volatile.Read(ref _connections);

    /// <summary>Whether the thread waits for events. Any thread may read it.</summary>
    public bool Sleeps => Volatile.Read(ref _sleeping) != 0;

    /// <summary>What the event loop has done. Any thread may read it.</summary>
    public LoopCounters Counters => new(Volatile.Read(ref _rounds), Received, Connections, Volatile.Read(ref _unsent), Load.Moved);

    /// <summary>On the event loop: shutdown has begun, and connections whose peers do not read are closed.</summary>
    public bool IsEnding { get; private set; }

    /// <summary>
    /// Whether the unsent output of this event loop's connections is within its share. Any thread may read it.
    /// </summary>
    public bool HasRoomForUnsent => Volatile.Read(ref _unsent) <= Options.UnreadBytesOfAll / _balance.Active;

    public void CountUnsent(long bytes) => Volatile.Write(ref _unsent, _unsent + bytes);

    /// <summary>
    /// On the event loop: counts bytes that were received, written or sent as a measure of the round's duration.
    /// </summary>
    public void CountMoved(long bytes) => _moved += bytes;

    public bool RoundIsFull => _moved >= _roundIsFull;

    public void Start() => _threads.Start();

    /// <summary>Aborts the open connections and ends the threads.</summary>
    public void Stop()
    {
        Post(static self => ((Loop)self!)._stopping = true, this);
        if (!IsOnLoop) _threads.WaitForEnd();
    }

    public void Post(Action<object?> callback, object? state) => Post(callback, state, owner: null);

    /// <summary>The same for a connection, which is told when the callback has run.</summary>
    public void Post(Action<object?> callback, object? state, LoopConnection? owner)
    {
        _posted.Enqueue(new Callback(callback, state, owner));
        if (IsOnLoop) return;
        // The event loop announces its sleep and then checks the queue; a poster enqueues and then checks the announcement. A
        // full fence on both sides ensures that at least one of them sees the other's write, so the event loop does not sleep
        // through a post. With the exchange, only one of many posters pays for the wake-up.
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref _sleeping) != 0 && Interlocked.Exchange(ref _sleeping, 0) != 0) Native.Wake(_wakeup);
    }

    public void Schedule(IThreadPoolWorkItem work) => Post(static work => ((IThreadPoolWorkItem)work!).Execute(), work);

    public void RunOrPost(Action<object?> callback, object? state)
    {
        if (IsOnLoop) callback(state);
        else Post(callback, state);
    }

    public void AtEndOfRound(Action<object?> callback, object? state)
    {
        if (!IsOnLoop) throw new InvalidOperationException("Only the loop itself can ask for the end of its round.");
        _endOfRound.Enqueue(new Callback(callback, state, Owner: null));
    }

    public void Gather(IGatheredWork work)
    {
        if (!IsOnLoop) throw new InvalidOperationException("Only the loop itself gathers work.");
        _gathered.Enqueue(new Work(work));
    }

    public void Postpone(IGatheredWork work)
    {
        if (!IsOnLoop) throw new InvalidOperationException("Only the loop itself postpones work.");
        _postponed.Enqueue(new Work(work));
    }

    public byte[] Rent(int size) => IsOnLoop ? _pool.Rent(size) : BufferPool.RentShared(size);

    /// <inheritdoc cref="BufferPool.ReturnShared"/>
    public void Return(byte[] buffer, bool ofMany = false)
    {
        if (IsOnLoop) _pool.Return(buffer, ofMany);
        else BufferPool.ReturnShared(buffer, ofMany);
    }

    /// <summary>Releases the pooled buffers. Any thread may call it.</summary>
    public void DropSpareBuffers() => _pool.Clear();

    public void Claim() => Interlocked.Increment(ref _connections);

    public void Release() => Interlocked.Decrement(ref _connections);

    /// <summary>
    /// Runs on the event loop, or before it starts. Returns false if the kernel refuses to watch another descriptor.
    /// </summary>
    public bool TryAdd(int fd, uint interest, ILoopTarget? target)
    {
        if (fd >= _targets.Length) Array.Resize(ref _targets, Math.Max(fd + 1, _targets.Length * 2));
        _targets[fd] = target;
        return Native.Control(_epoll, Native.EpollAdd, fd, interest) >= 0;
    }

    public void Change(int fd, uint interest) => _ = Native.Control(_epoll, Native.EpollMod, fd, interest);

    public void Remove(int fd)
    {
        _targets[fd] = null;
        _ = Native.Control(_epoll, Native.EpollDel, fd, 0);
    }

    public void CloseAtEndOfRound(int fd) => _closing.Add(fd);

    public void QueueReadable(LoopConnection connection)
    {
        if (connection.IsQueuedToRead) return;
        connection.IsQueuedToRead = true;
        _readable.Enqueue(connection);
    }

    /// <summary>
    /// Sends the connection's output at the end of the round. Output of a connection that waits for input is a message and not a
    /// reply, and a long reply takes time. Both go after the other output, a limited number in each round.
    /// </summary>
    public void QueueSend(LoopConnection connection)
    {
        if (connection.IsQueuedToSend) return;
        (connection.AwaitsInput || connection.UnsentBytes > Options.PauseWriterBytes ? _toSendLast : _toSend).Enqueue(connection);
        connection.IsQueuedToSend = true;
    }

    /// <summary>On the event loop: queues the connection for sending after a while, to check whether its peer reads.</summary>
    public void LookAgain(LoopConnection connection)
    {
        if (_stalled.Count == 0) _lookAtStalled = Environment.TickCount64 + Options.StallMilliseconds;
        _stalled.Add(connection);
    }

    /// <summary>Begins shutdown: a connection whose peer does not take its output is closed. Any thread may call it.</summary>
    public void BeginToEnd() => Post(
        static self =>
        {
            var loop = (Loop)self!;
            loop.IsEnding = true;
            foreach (ILoopTarget? target in loop._targets)
                if (target is LoopConnection connection) loop.QueueSend(connection);
        },
        this);

    public bool TryHandOver()
    {
        if (!IsOnLoop) throw new InvalidOperationException("Only the loop itself can hand itself over.");
        return _threads.TryHandOver();
    }

    /// <summary>
    /// Runs rounds until the event loop stops, and returns true then. Returns false if the calling thread has handed the event
    /// loop over; it must not touch the event loop's state any more.
    /// </summary>
    private bool Serve()
    {
        int failures = 0;
        int turn = _threads.Turn;
        while (!_stopping)
        {
            try
            {
                Round(turn);
                failures = 0;
            }
            catch (Exception bug)
            {
                // The work that the round did not reach is still queued.
                Options.Failed(_log, bug, "A round of an event loop was cut short");
                if (++failures == RoundsThatMayFail) Options.End("An event loop cannot go on", bug);
            }
            if (turn != _threads.Turn) return false;
        }
        RunToTheEnd();
        return true;
    }

    private void RunToTheEnd()
    {
        int turn = _threads.StayToTheEnd();
        _roundIsFull = long.MaxValue;
        RunGathered(turn);
        RunPostponed(turn);
        RunPosted(turn);
        foreach (ILoopTarget? target in _targets) target?.OnLoopStopping();
        RunPosted(turn);
        CloseQueued();
        _ = Native.Close(_wakeup);
        _ = Native.Close(_epoll);
    }

    /// <summary>
    /// Each step but the last ones calls other code, which may hand the event loop over. The thread's turn is over then.
    /// </summary>
    private void Round(int turn)
    {
        BeginTurn();
        // Postponed work uses the room of the round before new work does. Otherwise new work could delay it for ever.
        if (!RunPostponed(turn) || !DispatchEvents(turn)) return;
        ReceiveEvents();
        if (!DispatchEvents(turn) || !ReceiveFromReadable(turn) || !RunGathered(turn) || !RunPosted(turn) || !RunEndOfRound(turn)) return;
        Held.Release();
        SendQueued();
        CloseQueued();
        _rounds++;
        if (_balance.IsByLoad && Load.IsDue) _balance.Look(this, turn);
    }

    private void BeginTurn() => _roundIsFull = _moved + Options.MaxBytesPerRound;

    private void ReceiveEvents()
    {
        int timeout = 0;
        if (_readable.Count == 0 && _gathered.Count == 0 && _postponed.Count == 0
            && _toSend.Count == 0 && _toSendLast.Count == 0 && _endOfRound.Count == 0)
        {
            Volatile.Write(ref _sleeping, 1);
            Interlocked.MemoryBarrier(); // See Post.
            if (_posted.IsEmpty) timeout = _stalled.Count == 0 ? -1 : Options.StallMilliseconds;
        }
        _nextEvent = 0;
        _eventCount = Native.Wait(_epoll, _events, timeout);
        Volatile.Write(ref _sleeping, 0);
        if (_stalled.Count > 0 && Environment.TickCount64 >= _lookAtStalled) QueueStalled();
    }

    private void QueueStalled()
    {
        foreach (LoopConnection connection in _stalled)
            if (connection.Loop == this) QueueSend(connection);
        _stalled.Clear();
    }

    private bool DispatchEvents(int turn)
    {
        while (turn == _threads.Turn && _nextEvent < _eventCount)
        {
            ILoopTarget? target = null;
            try
            {
                while (turn == _threads.Turn && _nextEvent < _eventCount)
                {
                    (uint events, int fd) = Native.ReadEvent(_events, _nextEvent++);
                    // The wake-up descriptor has no target. Because it is edge-triggered, it need not be read.
                    target = _targets[fd];
                    target?.OnEvents(events);
                }
            }
            catch (Exception bug)
            {
                Failed(target, bug);
            }
        }
        return turn == _threads.Turn;
    }

    private bool ReceiveFromReadable(int turn)
    {
        int budget = _readable.Count;
        while (turn == _threads.Turn && budget > 0)
        {
            LoopConnection? connection = null;
            try
            {
                for (; turn == _threads.Turn && budget > 0 && _readable.TryDequeue(out connection); budget--)
                {
                    connection.IsQueuedToRead = false;
                    connection.Receive();
                }
            }
            catch (Exception bug)
            {
                budget--;
                Failed(connection, bug);
            }
        }
        return turn == _threads.Turn;
    }

    /// <summary>Reports a failure of work that the event loop started elsewhere. Any thread may call it.</summary>
    public void Report(Exception failure, string work) => Options.Failed(_log, failure, work);

    /// <summary>
    /// Aborts a connection that failed for lack of memory or because of a bug. The event loop and its other connections
    /// continue.
    /// </summary>
    private void Failed(ILoopTarget? target, Exception bug)
    {
        Options.Failed(_log, bug, "A connection failed on its event loop");
        if (target is not LoopConnection connection) return;
        try
        {
            connection.RunOrPost(static connection => ((LoopConnection)connection!).AbortOnLoop(), connection);
        }
        catch (Exception again)
        {
            Options.Failed(_log, again, "A connection could not be closed");
        }
    }

    /// <summary>
    /// Runs at least one item, and more while the round has room for them. Long replies to many connections would delay new connections
    /// otherwise.
    /// </summary>
    private bool RunGathered(int turn)
    {
        foreach (Work work in _gathered) work.Item.Fetch();
        for (int budget = _gathered.Count; turn == _threads.Turn && budget > 0 && _gathered.TryDequeue(out Work work); budget--)
        {
            work.Item.Run();
            if (RoundIsFull) break;
        }
        return turn == _threads.Turn;
    }

    /// <summary>Runs at least one item, and more while the round has room for them.</summary>
    private bool RunPostponed(int turn)
    {
        for (int budget = _postponed.Count; turn == _threads.Turn && budget > 0 && _postponed.TryDequeue(out Work work); budget--)
        {
            work.Item.Run();
            if (RoundIsFull) break;
        }
        return turn == _threads.Turn;
    }

    private bool RunPosted(int turn)
    {
        // Runs only the callbacks that are queued now. Callbacks that these post run in the next round.
        for (int budget = _posted.Count; turn == _threads.Turn && budget > 0 && _posted.TryDequeue(out Callback callback); budget--)
            Run(callback);
        return turn == _threads.Turn;
    }

    private bool RunEndOfRound(int turn)
    {
        while (turn == _threads.Turn && _endOfRound.TryDequeue(out Callback callback)) Run(callback);
        return turn == _threads.Turn;
    }

    private void SendQueued()
    {
        for (int budget = _toSend.Count; budget > 0 && _toSend.TryDequeue(out LoopConnection? connection); budget--) Send(connection);
        BeginTurn();
        for (int budget = Math.Min(_toSendLast.Count, MessagesPerRound);
            budget > 0 && !RoundIsFull && _toSendLast.TryDequeue(out LoopConnection? connection); budget--)
            Send(connection);
    }

    private void Send(LoopConnection connection)
    {
        connection.IsQueuedToSend = false;
        try
        {
            connection.Send();
        }
        catch (Exception bug)
        {
            Failed(connection, bug);
        }
    }

    private void CloseQueued()
    {
        foreach (int fd in _closing)
        {
            // A connection that has just moved here may not be watched yet.
            if (fd < _targets.Length) _targets[fd] = null;
            _ = Native.Close(fd);
        }
        _closing.Clear();
    }

    private void Run(Callback callback)
    {
        try
        {
            callback.Action(callback.State);
        }
        catch (Exception bug)
        {
            Options.Failed(_log, bug, "A callback on an event loop threw.");
        }
        callback.Owner?.EndPost();
    }

    private readonly record struct Callback(Action<object?> Action, object? State, LoopConnection? Owner);

    /// <summary>A queue of a structure stores an item without a check of the array's type.</summary>
    private readonly record struct Work(IGatheredWork Item);
}
