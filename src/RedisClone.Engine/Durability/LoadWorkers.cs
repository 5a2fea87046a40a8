using RedisClone.Engine.Shards;
using RedisClone.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Loads data on several threads. Each thread loads the keys of its own shards, so the data of one key stays in order. The
/// reader of the data fills batches. Work that concerns all shards is done when the threads are idle.
/// </summary>
internal sealed class LoadWorkers<TBatch> : IDisposable where TBatch : LoadBatch, new()
{
    private const int Most = 8;

    private readonly LoadWorker<TBatch>[] _workers;
    private readonly Func<TBatch, string?> _runHere;

    /// <param name="name">The names of the threads begin with this.</param>
    /// <param name="newRun">Creates the function that runs a batch, one for each thread.</param>
    public LoadWorkers(string name, Func<Func<TBatch, string?>> newRun)
    {
        _runHere = newRun();
        // Several threads reach a sum of sizes that their shards never had at the same time, and hold batches. A small heap may not
        // have room for that.
        _workers = new LoadWorker<TBatch>[HeapLimit.IsSmall ? 1 : Math.Clamp(Environment.ProcessorCount, 1, Most)];
        int begun = 0;
        try
        {
            for (; begun < _workers.Length; begun++) _workers[begun] = new LoadWorker<TBatch>($"{name} {begun}", newRun());
        }
        catch
        {
            foreach (LoadWorker<TBatch> worker in _workers.AsSpan(0, begun)) worker.Dispose();
            throw;
        }
    }

    /// <summary>
    /// The batch for the next item of a shard, of this many bytes; null if a thread has failed, so that the rest does not
    /// matter.
    /// </summary>
    public TBatch? BatchFor(Shard shard, int database, int bytes)
    {
        LoadWorker<TBatch> worker = _workers[shard.Index % _workers.Length];
        return worker.Filling.Takes(database, bytes) || worker.HandOver() ? worker.Filling : null;
    }

    /// <summary>Waits until all batches are done. Returns null, or the reason of a failure.</summary>
    public string? Settle()
    {
        string? error = null;
        foreach (LoadWorker<TBatch> worker in _workers)
        {
            if (worker.Filling.Count == 0) continue;
            // An idle worker would first have to wake up, so its batch is done sooner on this thread.
            if (worker.IsIdle && worker.Error is null)
            {
                error ??= _runHere(worker.Filling);
                worker.Filling.Clear();
            }
            else
            {
                worker.HandOver();
            }
        }
        WaitUntilIdle();
        foreach (LoadWorker<TBatch> worker in _workers) error ??= worker.Error;
        return error;
    }

    /// <summary>Waits until all batches that were handed over are done.</summary>
    public void WaitUntilIdle()
    {
        foreach (LoadWorker<TBatch> worker in _workers) worker.WaitUntilIdle();
    }

    public void Dispose()
    {
        foreach (LoadWorker<TBatch> worker in _workers) worker.Dispose();
    }
}
