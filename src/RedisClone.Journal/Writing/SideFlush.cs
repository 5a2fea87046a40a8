namespace RedisClone.Journal.Writing;

/// <summary>
/// Flushes a file on a thread of its own, so that the caller can write to the file meanwhile. One flush at a time.
/// </summary>
internal sealed class SideFlush : IDisposable
{
    private readonly WakeEvent _begun = new();
    private readonly WakeEvent _ended = new();
    private readonly Thread _thread;
    private IncrementFile? _file;
    private volatile bool _stopping;

    public SideFlush()
    {
        _thread = new(Run) { IsBackground = true, Name = "journal-flush" };
        _thread.Start();
    }

    /// <summary>The failure of the last flush, or null.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Begins a flush. The caller must wait for its end.</summary>
    public void Begin(IncrementFile file)
    {
        (_file, Failure) = (file, null);
        _begun.Set();
    }

    /// <summary>Returns false if the flush did not end within this time.</summary>
    public bool Wait(TimeSpan time) => _ended.Wait(time);

    public void Dispose()
    {
        _stopping = true;
        _begun.Set();
        _thread.Join();
        _begun.Dispose();
        _ended.Dispose();
    }

    private void Run()
    {
        while (true)
        {
            if (!_begun.Wait(TimeSpan.FromHours(1))) continue;
            if (_stopping) return;
            try
            {
                _file!.Flush();
            }
            catch (Exception error)
            {
                Failure = error;
            }
            _file = null;
            _ended.Set();
        }
    }
}
