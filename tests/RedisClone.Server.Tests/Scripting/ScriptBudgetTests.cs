using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>Cached scripts and libraries take memory of a heap with a limit, and are refused before it is full.</summary>
public sealed class ScriptBudgetTests
{
    private const int Heap = 64 << 20, Room = 8 << 20, Most = 50_000;

    private readonly CommandHost _host = new();
    private readonly HeapBudget _budget = new(Heap, Room);
    private readonly long _before;

    public ScriptBudgetTests()
    {
        _host.Core.Shards.Restrict(_budget);
        _before = _budget.Left;
    }

    [Fact]
    public void ScriptsAreRefusedWhenMemoryIsShort()
    {
        FillWith(i => _host.Call("SCRIPT", "LOAD", $"return {i}"));
        // A script of EVAL replaces one that was used longer ago.
        Assert.Equal("1", _host.Call("EVAL", "return 1 -- once", "0"));
        Flush("SCRIPT");
        Assert.DoesNotContain("OOM", _host.Call("SCRIPT", "LOAD", "return 'more'"), StringComparison.Ordinal);
    }

    [Fact]
    public void LibrariesAreRefusedWhenMemoryIsShort()
    {
        FillWith(i => _host.Call("FUNCTION", "LOAD", $"#!lua name=l{i}\nredis.register_function('f{i}', function() return {i} end)"));
        Assert.Equal("7", _host.Call("FCALL", "f7", "0"));
        Flush("FUNCTION");
    }

    /// <summary>Repeats a call until it is refused.</summary>
    private void FillWith(Func<int, string> call)
    {
        int calls = 0;
        while (calls < Most && !call(calls).Contains("OOM", StringComparison.Ordinal)) calls++;
        Assert.True(calls < Most, "nothing was refused");
        Assert.InRange(_budget.Left, 0, _before / 2);
    }

    private void Flush(string command)
    {
        Assert.Equal("OK", _host.Call(command, "FLUSH"));
        Assert.InRange(_budget.Left, _before / 2, _before);
    }
}
