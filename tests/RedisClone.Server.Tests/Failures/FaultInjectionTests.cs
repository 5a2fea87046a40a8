using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Differential;
using RedisClone.Server.Admin;
using RedisClone.Server.Commands;
using RedisClone.Server.Tests.Commands;
using RedisClone.Server.Tests.Config;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// Every command of the table is made to fail at each of its allocations and at each of its calls of the storage in turn. Afterwards
/// memory and the stream of effects agree, the thread has nothing left over, and the next command is served. Only a Debug build has the fault
/// points; <c>tests/run</c> runs these tests in one.
/// </summary>
public sealed class FaultInjectionTests
{
    private const int MostFaults = 400;

    private static readonly string[] s_types = ["string", "list", "hash", "set", "zset", "stream"];

    /// <summary>They end the process when they fail half way: their effect has no form that tells what is left.</summary>
    private static readonly HashSet<string> s_mayEnd = ["flushall", "flushdb", "swapdb"];

    /// <summary>They wait, or end the server or the connection, or are run by others of the table.</summary>
    private static readonly HashSet<string> s_left = ["shutdown", "debug", "monitor", "psync", "sync", "save", "bgsave", "bgrewriteaof", "client|kill", "quit"];

    private readonly Random _random = new(Seed.Take());
    private MirroredHost _hosts = null!;
    private int _faults;

    [Theory]
    [InlineData(FaultKinds.Allocation)]
    [InlineData(FaultKinds.Call)]
    internal void AfterAFailureMemoryAndEffectsAgree(FaultKinds kinds)
    {
        if (!FaultPoint.Exist) return;
        Begin();
        var findings = new List<string>();
        foreach (CommandRow row in _hosts.Host.Core.Commands.All)
        {
            if (row.Handler is null || s_left.Contains(row.FullName)) continue;
            Template[] templates = [.. Families.Of(row.FullName.ToUpperInvariant())];
            foreach (string type in s_types)
            {
                var arguments = new Arguments(_random, [type, "large:" + type, "none"]) { OnlyKeys = true };
                foreach (Template template in templates.Take(4)) Fail(row, [.. template.Instance(arguments).Select(a => a.Text)], kinds, findings);
            }
            if (findings.Count > 10) break;
        }
        Assert.True(findings.Count == 0, string.Join('\n', findings));
        Assert.True(_faults > 1000, $"only {_faults} faults were met");
    }

    /// <summary>Runs a request until it no longer meets the n-th fault point.</summary>
    private void Fail(CommandRow row, string[] words, FaultKinds kinds, List<string> findings)
    {
        var command = new CommandHost.Prepared(words);
        for (int nth = 1, step = 1; nth < MostFaults; nth += step)
        {
            if (nth > 40) step = 17;
            FaultPoint.Arm(nth, kinds, kinds == FaultKinds.Call ? static () => new UnreachableException("A test made this call fail.") : null);
            bool ended = false;
            try
            {
                _hosts.Host.Execute(command);
            }
            catch (ProcessEndedException) when (s_mayEnd.Contains(row.FullName))
            {
                ended = true;
            }
            catch (Exception escaped)
            {
                FaultPoint.Disarm();
                findings.Add($"{command}, fault {nth}: {escaped}");
                Begin();
                return;
            }
            bool thrown = FaultPoint.Disarm();
            _hosts.Host.Forget();
            if (ended) Begin();
            else if ((_hosts.Remains() ?? _hosts.Difference(command, row) ?? (_faults % 64 == 0 ? _hosts.Difference() : null)) is { } finding)
            {
                findings.Add($"{command}, fault {nth}: {finding}; effects {_hosts.LastEffects.Replace("\r\n", " ", StringComparison.Ordinal)}");
                Begin();
                return;
            }
            if (!thrown) return;
            if (++_faults % 256 == 0) Begin();
        }
    }

    /// <summary>Begins with fresh data: a small and a large value of each type.</summary>
    private void Begin()
    {
        Fatal.Instead = static (why, cause) => throw new ProcessEndedException(why, cause);
        _hosts = new MirroredHost();
        CommandHost host = _hosts.Host;
        host.Run("SET string 12345");
        host.Call("SET", "large:string", new string('x', 5000));
        foreach (string prefix in (string[])["", "large:"])
        {
            int count = prefix == "" ? 3 : 700;
            for (int i = 0; i < count; i++)
            {
                host.Run($"RPUSH {prefix}list m{i % 20}:{i}");
                host.Run($"HSET {prefix}hash f{i} {i}");
                host.Run($"SADD {prefix}set m{i}");
                host.Run($"ZADD {prefix}zset {i} m{i}");
                host.Run($"XADD {prefix}stream {i + 1}-1 f1 v{i}");
            }
            host.Run($"XGROUP CREATE {prefix}stream g1 0");
            host.Run($"XREADGROUP GROUP g1 c1 COUNT 20 STREAMS {prefix}stream >");
            host.Run($"HPEXPIREAT {prefix}hash 4000000000000 FIELDS 2 f0 f1");
        }
        host.Forget();
        _hosts.Follow();
    }

    private sealed class ProcessEndedException(string why, Exception? cause) : Exception(why, cause);
}
