using System.Net;

namespace RedisClone.Compare.Load;

/// <summary>A load on one server. It runs one loop on each core of the load, and adds up their results.</summary>
internal sealed class LoadGenerator : ILoad
{
    private readonly List<LoadLoop> _loops = [];

    public LoadGenerator(EndPoint server, LoadPlan plan, int threads = 1, int seed = 0)
    {
        LoadPlan part = plan with { Connections = plan.Connections / threads, RatePerSecond = plan.RatePerSecond / threads };
        try
        {
            for (int i = 0; i < threads; i++)
                _loops.Add(new LoadLoop(server, part, seed: seed * threads + i + 1));
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    public LoadResult Run(LoadLimit limit)
    {
        if (_loops.Count == 1)
            return _loops[0].Run(limit);

        var results = new LoadResult[_loops.Count];
        Exception? failure = null;
        Thread[] threads = [.. _loops.Select((loop, i) => new Thread(() =>
        {
            try
            {
                results[i] = loop.Run(limit);
            }
            catch (Exception e)
            {
                Interlocked.CompareExchange(ref failure, e, null);
            }
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        if (failure is not null)
            throw new LoadException(failure.Message, failure);

        var latency = new Histogram();
        foreach (LoadLoop loop in _loops)
            latency.Add(loop.Latency);
        return new LoadResult(
            results.Sum(r => r.Operations), results.Max(r => r.Elapsed), results.Sum(r => r.LoadCpu), Latencies.Of(latency));
    }

    public void Dispose()
    {
        foreach (LoadLoop loop in _loops)
            loop.Dispose();
    }
}
