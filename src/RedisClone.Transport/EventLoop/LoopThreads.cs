namespace RedisClone.Transport.EventLoop;

/// <summary>
/// The threads of one event loop. One of them serves the event loop. A thread that begins long work gives its turn to another
/// thread, and waits as the spare thread after its work.
/// </summary>
/// <param name="number">The event loop's number, for the names of the threads.</param>
/// <param name="serve">Serves until the turn of the calling thread is over (false) or the event loop has ended (true).</param>
internal sealed class LoopThreads(int number, Func<bool> serve)
{
    private readonly ManualResetEventSlim _ended = new();
    private readonly Lock _gate = new();
    private Member? _spare;
    private bool _hasEnded;
    private int _serving;       // the ID of the thread that serves
    private bool _isLast;

    /// <summary>
    /// For a thread that serves or served: the number of the present turn. Only the thread whose turn it is changes it, so a
    /// thread always sees the end of its own turn.
    /// </summary>
    public int Turn { get; private set; }

    /// <summary>Whether it is the calling thread's turn.</summary>
    public bool IsServing => Environment.CurrentManagedThreadId == Volatile.Read(ref _serving);

    public void Start()
    {
        var first = new Member(this);
        Volatile.Write(ref _serving, first.Id);
        first.GiveTurn();
    }

    /// <summary>
    /// Gives the turn of the calling thread to another thread. Returns false if none can be started, or if the event loop ends.
    /// </summary>
    public bool TryHandOver()
    {
        if (_isLast) return false;
        Member? next;
        lock (_gate) (next, _spare) = (_spare, null);
        try
        {
            next ??= new Member(this);
        }
        catch (Exception failure) when (failure is OutOfMemoryException or ThreadStartException)
        {
            return false;
        }
        Turn++;
        Volatile.Write(ref _serving, next.Id);
        next.GiveTurn();
        return true;
    }

    /// <summary>For the thread that serves: it will not hand over its turn any more. Returns the number of the turn.</summary>
    public int StayToTheEnd()
    {
        _isLast = true;
        return Turn;
    }

    public void WaitForEnd() => _ended.Wait();

    /// <summary>Makes the calling thread the spare thread. Returns false if it must end.</summary>
    private bool TryBecomeSpare(Member member)
    {
        lock (_gate)
        {
            if (_hasEnded || _spare is not null) return false;
            _spare = member;
            return true;
        }
    }

    private void End()
    {
        lock (_gate)
        {
            _hasEnded = true;
            _spare?.GiveTurn();
            _spare = null;
        }
        _ended.Set();
    }

    private sealed class Member
    {
        private readonly LoopThreads _threads;
        private readonly SemaphoreSlim _turn = new(0);
        private readonly Thread _thread;

        public Member(LoopThreads threads)
        {
            _threads = threads;
            _thread = new Thread(Run) { IsBackground = true, Name = $"loop-{threads.Number}" };
            _thread.Start();
        }

        public int Id => _thread.ManagedThreadId;

        public void GiveTurn() => _turn.Release();

        private void Run()
        {
            do
            {
                _turn.Wait();
                if (_threads._hasEnded) return;
                if (!_threads.Serve()) continue;
                _threads.End();
                return;
            }
            while (_threads.TryBecomeSpare(this));
        }
    }

    private int Number => number;

    private bool Serve() => serve();
}
