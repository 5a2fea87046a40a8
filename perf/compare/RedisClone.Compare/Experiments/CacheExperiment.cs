using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// Uses a new server in each round as a cache that is too small for all keys, and measures its hit ratio. The first half of the
/// lookups only fills the cache.
/// </summary>
internal sealed class CacheExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunWithNewServers(kinds, RunOne);

    private void RunOne(ServerProcess server, int round)
    {
        Cache cache = Workload.Cache!;
        using var control = new RespClient(server.Setup.Port);
        foreach ((string name, string value) in new[] { ("maxmemory", $"{cache.MaxMemory}"), ("maxmemory-policy", cache.Policy) })
            if (control.Ask("CONFIG", "SET", name, value) is var answer && answer != "+OK") throw new LoadException($"{name}: {answer}");

        var trace = new ZipfTrace(cache.Keys);
        using var client = new CacheClient(server.Setup.Port, cache.ValueBytes, expires: cache.Policy.StartsWith("volatile", StringComparison.Ordinal));
        client.Run(trace, cache.Lookups / 2);
        client.ResetCounts();
        Sample sample = Measure(server, Workload.Name, round, () =>
        {
            client.Run(trace, cache.Lookups / 2);
            return LoadResult.Nothing with { Operations = client.LookupCount };
        });
        Record(sample with
        {
            HitRatio = (double)client.HitCount / client.LookupCount,
            Keys = long.Parse(control.Ask("DBSIZE").AsSpan(1), System.Globalization.CultureInfo.InvariantCulture),
        });
    }
}
