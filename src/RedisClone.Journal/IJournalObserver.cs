namespace RedisClone.Journal;

/// <summary>
/// Is told what the journal achieved, on the thread that did it and under the writer's role: it must only pass the news on.
/// </summary>
public interface IJournalObserver
{
    /// <summary>The stream is durable up to here now. Positions never go back.</summary>
    void OnDurable(long lsn);

    /// <summary>A flush that replies may have waited for took so many ticks of the stopwatch.</summary>
    void OnFlushed(long ticks) { }

    /// <summary>A write or a flush failed; nothing becomes durable any more until a rebuild succeeds.</summary>
    void OnFailed(string reason);
}
