using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Commands;

/// <summary>
/// LATENCY DOCTOR: describes the latency spikes and gives advice for this server. The text begins as in Redis, because clients
/// match on that.
/// </summary>
internal static class LatencyDoctor
{
    private const string Disabled =
        "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use " +
        "\"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it.\n";

    private const string NoSpike =
        "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the slightest bit.\n";

    public static string Examine(ServerCore server, long now)
    {
        LatencyRecord[] records = server.Latency.Read();
        if (records.Length == 0) return server.Config.LatencyMonitorThreshold == 0 ? Disabled : NoSpike;
        var text = new StringBuilder("Dave, I have observed latency spikes in this Redis instance.\n\n");
        int number = 0;
        foreach (LatencyRecord record in records)
            text.Append(CultureInfo.InvariantCulture, $"{++number}. {record.Name}: {record.Samples.Length} latency spikes " +
                $"(average {record.Average}ms, mean deviation ")
                .Append(CultureInfo.InvariantCulture, $"{record.Deviation}ms, period {record.Period(now):F2} sec). Worst all time event {record.Worst}ms.\n");
        text.Append("\nAdvice:\n\n");
        foreach (string advice in records.SelectMany(record => AdviceFor(record.Name, server.Config)).Distinct()) text.Append("- ").Append(advice).Append('\n');
        return text.ToString();
    }

    private static IEnumerable<string> AdviceFor(string name, ServerConfig config)
    {
        switch (name)
        {
            case LatencyEvents.Command or LatencyEvents.Unblocking:
                if (config.SlowlogLogSlowerThan < 0 || config.SlowlogMaxLen == 0)
                    yield return $"The slow log is off. CONFIG SET slowlog-log-slower-than {config.LatencyMonitorThreshold * 1000} makes it name the commands.";
                else if (config.SlowlogLogSlowerThan / 1000 > config.LatencyMonitorThreshold)
                    yield return "The slow log names only commands that are slower still. " +
                        $"CONFIG SET slowlog-log-slower-than {config.LatencyMonitorThreshold * 1000} makes it name these.";
                yield return "SLOWLOG GET names the slow commands. Those over large collections can be split, or replaced by their SCAN forms.";
                break;
            case LatencyEvents.FastCommand:
                yield return "Commands that are never slow by themselves were: the machine did not give the server " +
                    "processor time, or scripts and commands over all keys held it up.";
                break;
            case LatencyEvents.ScriptOnAllShards:
                yield return "Scripts held up all commands. Those that use only the keys that they declare, and no computed ones, hold up only commands " +
                    "on these keys.";
                break;
            case LatencyEvents.ExpireCycle:
                yield return "Many keys expired at once. Spreading their times, or a lower active-expire-effort, makes the cycles shorter.";
                break;
            case LatencyEvents.EvictionCycle:
                yield return "One command had to evict many keys. A large value, or a lowered maxmemory, does that; maxmemory-clients and smaller values help.";
                break;
            case LatencyEvents.JournalFlush:
                yield return "The disk was slow to flush the journal. A local disk helps, and so does one that other programs " +
                    "do not write to; appendfsync everysec does not wait for it.";
                break;
        }
    }
}
