namespace RedisClone.Engine.Shards;

/// <summary>
/// An action that a worker runs while every shard is held. At most one run is queued or in progress. A request during a run is dropped, so
/// callers ask again while there is a reason.
/// </summary>
/// <param name="failure">The text that is logged if the action fails unexpectedly.</param>
internal sealed class HeldTask(ServerCore server, Action action, string failure)
{
    private int _runs;                  // 1 while a run is queued or in progress

    /// <summary>Queues a run unless there is one. The caller may hold a shard, or be an event loop.</summary>
    public void Begin()
    {
        if (Interlocked.Exchange(ref _runs, 1) != 0) return;
        try
        {
            ThreadPool.UnsafeQueueUserWorkItem(static task => task.Run(), this, preferLocal: false);
        }
        catch
        {
            Volatile.Write(ref _runs, 0);
            throw;
        }
    }

    private void Run()
    {
        try
        {
            new HeldAction(server.Shards, action).RunAndWait();
        }
        catch (Exception bug)
        {
            server.Failures.WorkFailed(failure, bug);
        }
        finally
        {
            Volatile.Write(ref _runs, 0);
        }
    }
}
