using RedisClone.Compare.Load;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Experiments;

/// <summary>
/// A new server each round, as a cache that cannot hold all: how often it has what it is asked for. The first half of the
/// lookups only fills it.
/// </summary>
internal sealed class CacheExperiment(Bench bench, Workload workload) : Experiment(bench, workload)
{
    protected override void RunRounds(IReadOnlyList<ServerKind> kinds) => RunAfresh(kinds, RunOne);

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
            return LoadResult.Nothing with { Operations = client.Asked };
        });
        Record(sample with
        {
            HitRatio = (double)client.Hits / client.Asked,
            Keys = long.Parse(control.Ask("DBSIZE").AsSpan(1), System.Globalization.CultureInfo.InvariantCulture),
        });
    }
}
