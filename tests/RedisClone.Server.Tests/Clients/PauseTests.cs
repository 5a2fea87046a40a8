using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;

namespace RedisClone.Server.Tests.Clients;

/// <summary>The pause of CLIENT PAUSE and the pause during a failover or a shutdown are independent.</summary>
public sealed class PauseTests
{
    [Fact]
    public void TheStrongerPauseCounts()
    {
        using var pause = new ClientPause();
        pause.HoldWrites();
        Assert.True(pause.HoldsBack(CommandFlags.Write));
        Assert.False(pause.HoldsBack(CommandFlags.ReadOnly));
        pause.Begin(ServerCore.UnixMilliseconds() + 60_000, PauseMode.All);
        Assert.True(pause.HoldsBack(CommandFlags.ReadOnly));
        pause.End();
        Assert.True(pause.HoldsBack(CommandFlags.Write));
        Assert.False(pause.HoldsBack(CommandFlags.ReadOnly));
        pause.HoldWrites();
        pause.ReleaseWrites();
        Assert.True(pause.HoldsWrites);
        pause.ReleaseWrites();
        Assert.False(pause.IsOn);
        pause.Begin(ServerCore.UnixMilliseconds() + 60_000, PauseMode.Write);
        pause.HoldWrites();
        pause.ReleaseWrites();
        Assert.True(pause.HoldsBack(CommandFlags.Write));
        Assert.False(pause.HoldsWrites);
    }
}
