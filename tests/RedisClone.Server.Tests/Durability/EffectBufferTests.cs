using System.Text;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Durability;

/// <summary>A unit of effects holds whole commands, and no more than an array can.</summary>
public sealed class EffectBufferTests
{
    [Fact]
    public void WhatWouldMakeAUnitTooLongIsRefusedAndNothingElseIs()
    {
        const int value = 30, most = 300;
        var host = new CommandHost();
        EffectBuffer effects = host.Core.Lanes.Current.Effects;
        effects.MostBytes = most;
        string[] done = host.EffectsOf($"EVAL for\ni=1,10\ndo\nredis.pcall('set','key'..i,string.rep('x',{value}))\nend 0");
        int kept = done.Count(effect => effect.StartsWith("set ", StringComparison.Ordinal));
        Assert.InRange(kept, 1, most / value);
        Assert.Equal($"{kept}", host.Run("DBSIZE"));
        Assert.Equal("ERR the effects of this transaction or script would be too long", host.Call("SET", "long", new string('x', most)));
        Assert.Equal("nil", host.Run("GET long"));
        Assert.Equal(["SET short 1"], host.EffectsOf("SET short 1"));
    }

    [Fact]
    public void AnEffectThatIsNotCompleteIsNone()
    {
        var effects = new EffectBuffer();
        effects.Begin(0, 2);
        effects.Add("DEL"u8);
        effects.DropUnfinished();
        Assert.Equal(0, effects.Commands);
        effects.AddDelete(0, "a"u8);
        effects.Begin(3, 3);
        effects.Add("SET"u8);
        effects.DropUnfinished();
        effects.DropUnfinished();
        effects.AddDelete(3, "b"u8);
        string unit = Encoding.ASCII.GetString(effects.Unit);
        Assert.Equal(["MULTI", "select", "0", "DEL", "a", "select", "3", "DEL", "b", "EXEC"], unit.Split("\r\n").Where(word => word.Length > 0 && char.IsAsciiLetterOrDigit(word[0])));
    }
}
