using System.Diagnostics;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;
using Xunit.Abstractions;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// Every command of the table fails at each of its allocations and at each of its calls of the storage in turn. Afterwards the
/// memory and the stream of effects agree, the thread has no leftover state, and the next command is served. Only a Debug build
/// has the fault points; <c>tests/run</c> runs these tests in a Debug build.
/// </summary>
[Collection(nameof(Fatal))]
public sealed class FaultInjectionTests : IDisposable
{
    private const int MostFaults = 400;

    /// <summary>Commands that end the process when they fail halfway, because no effect describes the remaining data.</summary>
    private static readonly HashSet<string> s_mayEnd = ["flushall", "flushdb", "swapdb"];

    private readonly Random _random;
    private MirroredHost _hosts = null!;
    private int _faults;
    private string? _ended;
    private bool _writesAllImages = true;

    public FaultInjectionTests(ITestOutputHelper output)
    {
        _random = Seed.Random(output);
        Fatal.Instead = (why, cause) =>
        {
            _ended ??= why;
            throw new InvalidOperationException(why, cause);
        };
    }

    public void Dispose() => Fatal.Instead = null;

    /// <summary>The images of unchanged values are omitted if they are large, so one run takes every value for a large one.</summary>
    [Theory]
    [InlineData(FaultKinds.Allocation, true)]
    [InlineData(FaultKinds.Allocation, false)]
    [InlineData(FaultKinds.Call, true)]
    internal void AfterAFailureMemoryAndEffectsAgree(FaultKinds kinds, bool writesAllImages)
    {
        if (!FaultPoint.Exist) return;
        _writesAllImages = writesAllImages;
        Begin();
        var findings = new List<string>();
        foreach (CommandRow row in _hosts.Host.Core.Commands.All)
        {
            foreach (string[] words in InjectedRows.RequestsOf(row, _random)) Fail(row, new CommandHost.Prepared(words), kinds, findings);
            if (findings.Count > 10) break;
        }
        Assert.True(findings.Count == 0, string.Join('\n', findings));
        Assert.True(_faults > 1000, $"only {_faults} faults were met");
    }

    /// <summary>A script may keep its effects to itself (redis.set_repl). A command of it that fails must not delete its key elsewhere.</summary>
    [Fact]
    public void ACommandWithoutEffectsThatFailsHasNone()
    {
        if (!FaultPoint.Exist) return;
        Begin();
        _hosts.Host.Run("SET muted hello");
        _hosts.Follow();
        const string script = "redis.set_repl(redis.REPL_NONE) return redis.pcall('SETRANGE', KEYS[1], 5000, 'x')";
        var command = new CommandHost.Prepared(["EVAL", script, "1", "muted"]);
        for (int nth = 1; nth <= 60; nth++)
        {
            FaultPoint.Arm(nth, FaultKinds.Allocation, null);
            _hosts.Host.Execute(command);
            FaultPoint.Disarm();
            _hosts.Host.Core.Failures.Tend();
            _hosts.Host.Forget();
            _hosts.Follow();
            Assert.DoesNotContain("muted", _hosts.LastEffects, StringComparison.Ordinal);
        }
    }

    /// <summary>Runs a request once for each of its fault points, until the n-th fault point no longer exists.</summary>
    private void Fail(CommandRow row, CommandHost.Prepared command, FaultKinds kinds, List<string> findings)
    {
        for (int nth = 1, step = 1; nth < MostFaults; nth += step)
        {
            if (nth > 40) step = 17;
            FaultPoint.Arm(nth, kinds, kinds == FaultKinds.Call ? static () => new UnreachableException("A test made this call fail.") : null);
            bool thrown = false;
            string? finding;
            try
            {
                finding = Run(row, command, ref thrown);
            }
            catch (Exception escaped)
            {
                finding = escaped.ToString();
            }
            if (finding is not null)
            {
                FaultPoint.Disarm();
                findings.Add($"{command}, fault {nth}: {finding}");
                Begin();
                return;
            }
            if (!thrown) return;
            if (++_faults % 256 == 0) Begin();
        }
    }

    /// <summary>Runs a command. Returns null, or the error found after the run.</summary>
    private string? Run(CommandRow row, CommandHost.Prepared command, ref bool thrown)
    {
        _ended = null;
        try
        {
            _hosts.Host.Execute(command);
        }
        catch (InvalidOperationException) when (_ended is not null)
        {
            // In a server, the process has ended at this point.
        }
        thrown = FaultPoint.Disarm();
        // Background work does the same. Until then, commands that take memory are refused.
        _hosts.Host.Core.Failures.Tend();
        if (_ended is not null)
        {
            Begin();
            return s_mayEnd.Contains(row.FullName) ? null : _ended;
        }
        _hosts.Host.Forget();
        string? finding = _hosts.Remains() ?? _hosts.Difference(command, row) ?? (_faults % 128 == 0 ? _hosts.Difference() : null);
        return finding is null ? null : $"{finding}; effects {_hosts.LastEffects.Replace("\r\n", " ", StringComparison.Ordinal)}";
    }

    private void Begin()
    {
        _hosts = new MirroredHost();
        if (!_writesAllImages) _hosts.Host.Core.Failures.Images.LargeValue = -1;
        InjectedRows.Prepare(line => _hosts.Host.Run(line));
        _hosts.Follow();
    }

}

/// <summary>Tests that replace the end of the process, or release its reserve of memory, do not run in parallel with other tests.</summary>
[CollectionDefinition(nameof(Fatal), DisableParallelization = true)]
public sealed class FatalTests;
