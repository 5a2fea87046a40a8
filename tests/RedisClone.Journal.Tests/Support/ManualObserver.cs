namespace RedisClone.Journal.Tests.Support;

/// <summary>Remembers what the journal said, and lets threads wait for it.</summary>
public sealed class ManualObserver : IJournalObserver
{
    private readonly object _gate = new();
    private long _durable;

    public string? Failure { get; private set; }

    public void OnDurable(long lsn)
    {
        lock (_gate)
        {
            Assert.True(lsn >= _durable, "durable went back");
            _durable = lsn;
            Monitor.PulseAll(_gate);
        }
    }

    public void OnFailed(string reason)
    {
        lock (_gate)
        {
            Failure = reason;
            Monitor.PulseAll(_gate);
        }
    }

    /// <summary>Waits until durable, or failed; false when it failed.</summary>
    public bool WaitFor(long lsn)
    {
        lock (_gate)
        {
            while (_durable < lsn && Failure is null)
                if (!Monitor.Wait(_gate, TimeSpan.FromSeconds(60))) throw new TimeoutException($"{lsn} does not become durable, {_durable} is");
            return Failure is null;
        }
    }
}
