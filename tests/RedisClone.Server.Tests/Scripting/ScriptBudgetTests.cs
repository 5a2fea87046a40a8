using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>Cached scripts and libraries take memory of a heap with a limit, and are refused before it is full.</summary>
public sealed class ScriptBudgetTests
{
    private const int Heap = 64 << 20, Room = 8 << 20, Most = 50_000;

    private readonly CommandHost _host = new();
    private readonly HeapBudget _budget = new(Heap, Room);

    public ScriptBudgetTests() => _host.Core.Shards.Restrict(_budget);

    [Fact]
    public void ScriptsAreRefusedWhenMemoryIsShort()
    {
        long before = _budget.Left;
        FillWith(i => _host.Call("SCRIPT", "LOAD", $"return {i}"));
        Assert.InRange(_budget.Left, 0, before / 2);
        // A script of EVAL replaces one that was used longer ago.
        Assert.Equal("1", _host.Call("EVAL", "return 1 -- once", "0"));
        Assert.Equal("OK", _host.Call("SCRIPT", "FLUSH"));
        Assert.InRange(_budget.Left, before / 2, before);
        Assert.DoesNotContain("OOM", _host.Call("SCRIPT", "LOAD", "return 'more'"), StringComparison.Ordinal);
    }

    [Fact]
    public void LibrariesAreRefusedWhenMemoryIsShort()
    {
        long before = _budget.Left;
        FillWith(i => _host.Call("FUNCTION", "LOAD", $"#!lua name=l{i}\nredis.register_function('f{i}', function() return {i} end)"));
        Assert.InRange(_budget.Left, 0, before / 2);
        Assert.Equal("7", _host.Call("FCALL", "f7", "0"));
        Assert.Equal("OK", _host.Call("FUNCTION", "FLUSH"));
        Assert.InRange(_budget.Left, before / 2, before);
    }

    private static void FillWith(Func<int, string> call)
    {
        for (int i = 0; i < Most; i++)
            if (call(i).Contains("OOM", StringComparison.Ordinal)) return;
        Assert.Fail("nothing was refused");
    }
}
