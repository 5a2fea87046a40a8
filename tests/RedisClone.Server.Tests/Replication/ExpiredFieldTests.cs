namespace RedisClone.Server.Tests.Replication;

/// <summary>
/// A field of a hash that has expired on a replica: clients do not see it, and the stream of the primary decides what becomes of it.
/// </summary>
public sealed class ExpiredFieldTests : IDisposable
{
    private readonly FollowingHost _replica = new();

    /// <summary>The primary sent these commands before the field expired there, but they arrive later.</summary>
    [Theory]
    [InlineData("HPERSIST h FIELDS 1 gone")]
    [InlineData("HPEXPIREAT h 70368744170000 FIELDS 1 gone")]
    [InlineData("HGETEX h PERSIST FIELDS 1 gone")]
    [InlineData("HSETEX h FXX PXAT 70368744170000 FIELDS 2 gone 1 other 2")]
    [InlineData("HSETNX h gone 7;HPERSIST h FIELDS 1 gone")]
    public void AnExpiryThatThePrimaryChangedInTimeIsChangedHere(string commands)
    {
        Follow([.. Hash("h"), .. commands.Split(';')]);
        Assert.Equal("1", _replica.Host.Run("HGET h gone"));
        Assert.Equal("2", _replica.Host.Run("HLEN h"));
    }

    [Theory]
    [InlineData("h")]
    [InlineData("large")]
    public void ClientsSeeOnlyLiveFields(string key)
    {
        Follow([.. Hash("h"), .. Hash("large"), $"HSET large long {new string('v', 200)}", "HDEL large long"]);
        Assert.Equal("[other 2]", _replica.Host.Run($"HGETALL {key}"));
        Assert.Equal("[other]", _replica.Host.Run($"HKEYS {key}"));
        Assert.Equal("[2]", _replica.Host.Run($"HVALS {key}"));
        Assert.Equal("other", _replica.Host.Run($"HRANDFIELD {key}"));
        Assert.Equal("[other]", _replica.Host.Run($"HRANDFIELD {key} 5"));
        Assert.Equal("[other other]", _replica.Host.Run($"HRANDFIELD {key} -2"));
        Assert.Equal("[0 [other 2]]", _replica.Host.Run($"HSCAN {key} 0"));
        Assert.Equal("nil", _replica.Host.Run($"HGET {key} gone"));
        Assert.Equal("2", _replica.Host.Run($"HLEN {key}"));
    }

    [Fact]
    public void AHashWithoutLiveFieldsHasNoRandomField()
    {
        Follow([.. Hash("h"), "HDEL h other"]);
        Assert.Equal("nil", _replica.Host.Run("HRANDFIELD h"));
        Assert.Equal("[]", _replica.Host.Run("HRANDFIELD h 3"));
        Assert.Equal("[]", _replica.Host.Run("HRANDFIELD h -3 WITHVALUES"));
        Assert.Equal("[]", _replica.Host.Run("HGETALL h"));
        _replica.Host.RespVersion = 3;
        Assert.Equal("{}", _replica.Host.Run("HGETALL h"));
    }

    /// <summary>A write on a writable replica removes the expired field first. Its effects then fit what a replay finds.</summary>
    [Theory]
    [InlineData("HSETNX h gone 7", "HDEL h gone", "HSETNX h gone 7")]
    [InlineData("HSETEX h FNX FIELDS 1 gone 7", "HDEL h gone", "HSETEX h FNX FIELDS 1 gone 7")]
    [InlineData("HINCRBYFLOAT h gone 7", "HDEL h gone", "HSET h gone 7")]
    [InlineData("HGETDEL h FIELDS 1 gone", "HDEL h gone")]
    public void AWriteOnAReplicaRemovesAnExpiredField(string command, params string[] effects)
    {
        Follow(Hash("h"));
        _replica.Host.Core.Config.ReplicaReadOnly = false;
        Assert.Equal(effects, _replica.Host.EffectsOf(command).Where(static effect => effect is not ("MULTI" or "EXEC")));
    }

    [Theory]
    [InlineData("HGETDEL h FIELDS 1 gone")]
    [InlineData("HSETEX h PXAT 1 FIELDS 1 gone 5")]
    public void AWriteOnAReplicaLeavesNoEmptyHash(string command)
    {
        Follow([.. Hash("h"), "HDEL h other"]);
        _replica.Host.Core.Config.ReplicaReadOnly = false;
        _replica.Host.Run(command);
        Assert.False(_replica.Has("h"));
    }

    public void Dispose() => _replica.Dispose();

    private static string[] Hash(string key) => [$"HSET {key} gone 1 other 2", $"HPEXPIREAT {key} 1000 FIELDS 1 gone"];

    private void Follow(string[] stream)
    {
        _replica.Follow(stream);
        _replica.AwaitStream();
    }
}
