namespace RedisClone.Journal.Tests.Support;

/// <summary>Records the notifications of the journal and lets threads wait for them.</summary>
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

    public void OnWritten()
    {
        lock (_gate) Monitor.PulseAll(_gate);
    }

    public void OnFailed(string reason)
    {
        lock (_gate)
        {
            Failure = reason;
            Monitor.PulseAll(_gate);
        }
    }

    /// <summary>Waits until a report says that the position is written.</summary>
    public void WaitForWrite(JournalEngine journal, long lsn)
    {
        lock (_gate)
        {
            while (journal.WrittenLsn < lsn)
                if (!Monitor.Wait(_gate, TimeSpan.FromSeconds(60)))
                    throw new TimeoutException($"{lsn} is not written, {journal.WrittenLsn} is");
        }
    }

    /// <summary>Waits until the position is durable. Returns false if the journal failed.</summary>
    public bool WaitFor(long lsn)
    {
        lock (_gate)
        {
            while (_durable < lsn && Failure is null)
                if (!Monitor.Wait(_gate, TimeSpan.FromSeconds(60)))
                    throw new TimeoutException($"{lsn} does not become durable, {_durable} is");
            return Failure is null;
        }
    }
}
