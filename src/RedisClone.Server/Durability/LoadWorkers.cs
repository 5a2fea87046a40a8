using RedisClone.Server.Shards;

namespace RedisClone.Server.Durability;

/// <summary>
/// Brings data back on several threads, each of which has the keys of its own shards: what belongs to one key stays in order. Who reads the
/// data fills batches, and has what concerns all shards done when the threads have nothing left to do.
/// </summary>
internal sealed class LoadWorkers<TBatch> : IDisposable where TBatch : LoadBatch, new()
{
    private const int Most = 8;

    private readonly LoadWorker<TBatch>[] _workers;
    private readonly Func<TBatch, string?> _runHere;

    /// <param name="name">What the threads are called.</param>
    /// <param name="newRun">Gives what runs a batch, one for each thread.</param>
    public LoadWorkers(string name, Func<Func<TBatch, string?>> newRun)
    {
        _runHere = newRun();
        _workers = new LoadWorker<TBatch>[Math.Clamp(Environment.ProcessorCount, 1, Most)];
        for (int i = 0; i < _workers.Length; i++) _workers[i] = new LoadWorker<TBatch>($"{name} {i}", newRun());
    }

    /// <summary>Where the next item of a shard goes, of so many bytes; null when nothing more counts, since something has failed.</summary>
    public TBatch? BatchFor(Shard shard, int database, int bytes)
    {
        LoadWorker<TBatch> worker = _workers[shard.Index % _workers.Length];
        return worker.Filling.Takes(database, bytes) || worker.HandOver() ? worker.Filling : null;
    }

    /// <summary>Waits until all is done; null, or why it cannot be.</summary>
    public string? Settle()
    {
        string? error = null;
        foreach (LoadWorker<TBatch> worker in _workers)
        {
            if (worker.Filling.Count == 0) continue;
            // What an idle worker has not been handed yet is quicker done here than over there.
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
        foreach (LoadWorker<TBatch> worker in _workers)
        {
            worker.WaitUntilIdle();
            error ??= worker.Error;
        }
        return error;
    }

    public void Dispose()
    {
        foreach (LoadWorker<TBatch> worker in _workers) worker.Dispose();
    }
}
