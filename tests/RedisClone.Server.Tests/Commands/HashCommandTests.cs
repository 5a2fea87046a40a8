using RedisClone.Engine.Commands;

namespace RedisClone.Server.Tests.Commands;

/// <summary>Hashes and the expiry of their fields: replies, and effects that do not depend on the clock.</summary>
public sealed class HashCommandTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("HSET h d 4 a 5", "1")]
    [InlineData("HSET h d", "ERR wrong number of arguments for 'hset' command")]
    [InlineData("HSETNX h a 9", "0")]
    [InlineData("HMGET h a q c", "[1 nil xyz]")]
    [InlineData("HDEL h a b q", "2")]
    [InlineData("HINCRBY h a -3", "-2")]
    [InlineData("HINCRBY h c 1", "ERR hash value is not an integer")]
    [InlineData("HINCRBYFLOAT h b 0.5", "2.5")]
    [InlineData("HINCRBYFLOAT h b inf", "ERR value is NaN or Infinity")]
    [InlineData("HSTRLEN h c", "3")]
    [InlineData("HSCAN h 0 MATCH a NOVALUES", "[0 [a]]")]
    [InlineData("HSCAN h x", "ERR invalid cursor")]
    [InlineData("HRANDFIELD h -9223372036854775808 WITHVALUES", "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")]
    [InlineData("HRANDFIELD h 9223372036854775807 WITHVALUES", "ERR value is out of range")]
    [InlineData("HEXPIRE h 10 FIELDS 2 a q", "[1 -2]")]
    [InlineData("HEXPIRE h 0 FIELDS 1 a", "[2]")]
    [InlineData("HEXPIRE h 10 GT FIELDS 1 a", "[0]")]
    [InlineData("HEXPIRE h 10 FIELDS 2 a", "ERR The `numfields` parameter must match the number of arguments")]
    [InlineData("HPEXPIRE h 70368744177664 FIELDS 1 a", "ERR invalid expire time in 'hpexpire' command")]
    [InlineData("HGETDEL h FIELDS 2 a q", "[1 nil]")]
    [InlineData("HSETEX h FNX EX 10 FIELDS 1 a 2", "0")]
    [InlineData("HSETEX h FXX KEEPTTL FIELDS 1 a 2", "1")]
    public void ACommandHasTheExpectedReply(string command, string expected)
    {
        _host.Run("HSET h a 1 b 2 c xyz");
        Assert.Equal(expected, _host.Run(command));
    }

    [Theory]
    [InlineData("HSET n a 1 b 200 c xyz", "3", "[a 1 b 200 c xyz]")]
    [InlineData("HSET n a 1 b 2 a 3", "2", "[a 3 b 2]")]
    [InlineData("HSET n 7 1 007 2 7 3", "2", "[7 3 007 2]")]
    [InlineData("HMSET n a 1 a 2", "OK", "[a 2]")]
    public void ANewHashHasTheFieldsOfItsFirstCommand(string command, string reply, string fields)
    {
        Assert.Equal(reply, _host.Run(command));
        Assert.Equal(fields, _host.Run("HGETALL n"));
        Assert.Equal("1", _host.Run("HSET n new 1"));
    }

    /// <summary>As many fields as a small hash may have, and one more; together longer than one may be.</summary>
    [Theory]
    [InlineData(512, 64)]
    [InlineData(513, 1)]
    [InlineData(8, 65)]
    public void ANewHashMayBeOfAnySize(int fields, int length)
    {
        string text = new('x', length);
        Assert.Equal($"{fields}", _host.Call(["HSET", "n", .. Enumerable.Range(0, fields).SelectMany(i => new[] { $"f{i}", text })]));
        Assert.Equal($"{fields}", _host.Run("HLEN n"));
        Assert.Equal(text, _host.Run($"HGET n f{fields - 1}"));
    }

    [Fact]
    public void FieldsExpireSeparatelyAndAreRemovedOnAccess()
    {
        _host.Run("HSET h a 1 b 2");
        _host.Run("HPEXPIRE h 100 FIELDS 1 a");
        Assert.Equal("[100 -1]", _host.Run("HPTTL h FIELDS 2 a b"));
        _host.Now += 101;
        Assert.Equal("2", _host.Run("HLEN h"));
        Assert.Equal("[b 2]", _host.Run("HGETALL h"));
        Assert.Equal(["HDEL h a"], _host.EffectsOf("HGET h a"));
        Assert.Equal("1", _host.Run("HLEN h"));
    }

    /// <summary>A command that removes the last field of a hash because it has expired removes the hash too.</summary>
    [Theory]
    [InlineData("HGET h a", 512)]
    [InlineData("HGET h a", 0)]
    [InlineData("HMGET h a a", 512)]
    [InlineData("HEXISTS h a", 0)]
    [InlineData("HSTRLEN h a", 512)]
    [InlineData("HDEL h a", 512)]
    [InlineData("HDEL h a", 0)]
    [InlineData("HGETDEL h FIELDS 1 a", 512)]
    [InlineData("HGETEX h FIELDS 1 a", 512)]
    [InlineData("HPERSIST h FIELDS 1 a", 512)]
    [InlineData("HEXPIRE h 10 FIELDS 1 a", 0)]
    [InlineData("HPTTL h FIELDS 1 a", 512)]
    [InlineData("HSETEX h FXX FIELDS 1 a 1", 512)]
    public void AHashEndsWithItsLastExpiredField(string command, int packed)
    {
        var host = new CommandHost(c => c.HashMaxListpackEntries = packed);
        host.Run("HSET h a 1");
        host.Run("HPEXPIRE h 100 FIELDS 1 a");
        host.Now += 101;
        string[] effects = host.EffectsOf(command);
        // A command may leave the expired field to active expiry. It must not leave a hash without fields.
        string length = host.Run("HLEN h");
        Assert.Equal(length, host.Run("EXISTS h"));
        Assert.Equal(length == "0" ? 1 : 0, effects.Count(effect => effect.StartsWith("HDEL h a", StringComparison.Ordinal)));
        // HDEL removes the field itself, and the field does not expire.
        bool expires = length == "0" && !command.StartsWith("HDEL", StringComparison.Ordinal);
        if (expires) Assert.Contains("expired_subkeys:1\r\n", host.Run("INFO stats"), StringComparison.Ordinal);
    }

    [Fact]
    public void AnIncrementOfAnExpiredFieldStartsAtZero()
    {
        _host.Run("HSETEX h PX 100 FIELDS 2 n 41 other x");
        _host.Now += 101;
        Assert.Equal(["MULTI", "HDEL h n", "HINCRBY h n 1", "EXEC"], _host.EffectsOf("HINCRBY h n 1"));
        Assert.Equal("1", _host.Run("HGET h n"));
        Assert.Equal("[-1]", _host.Run("HTTL h FIELDS 1 n"));
    }

    [Theory]
    [InlineData("HEXPIRE h 1 FIELDS 2 a q", "HPEXPIREAT h 1700000001000 FIELDS 1 a")]
    [InlineData("HINCRBYFLOAT h a 0.5", "HSET h a 1.5")]
    [InlineData("HSETEX h EX 1 FIELDS 1 a 2", "HSETEX h PXAT 1700000001000 FIELDS 1 a 2")]
    [InlineData("HGETEX h PX 5 FIELDS 1 b", "HPEXPIREAT h 1700000000005 FIELDS 1 b")]
    [InlineData("HGETDEL h FIELDS 2 a b", "HDEL h a b")]
    public void EffectsDoNotDependOnTheClock(string command, string effect)
    {
        _host.Run("HSET h a 1 b 2");
        Assert.Equal([effect], _host.EffectsOf(command));
    }

    /// <summary>The effect keeps the expiry, in commands that redis-server 7.4 knows.</summary>
    [Fact]
    public void AnIncrementByAFloatKeepsTheExpiryOfItsField()
    {
        _host.Run("HSETEX h EX 1 FIELDS 1 a 2");
        Assert.Equal(["MULTI", "HSET h a 2.5", "HPEXPIREAT h 1700000001000 FIELDS 1 a", "EXEC"], _host.EffectsOf("HINCRBYFLOAT h a 0.5"));
        Assert.Equal("[1700000001000]", _host.Run("HPEXPIRETIME h FIELDS 1 a"));
    }

    [Fact]
    public void HashesOfOneShapeAreImportedWithOneListOfFields()
    {
        Assert.Equal("ERR no such fieldset", _host.Run("HIMPORT SET h u ada 36"));
        Assert.Equal("ERR duplicate field name in fieldset", _host.Run("HIMPORT PREPARE u name name"));
        Assert.Equal("OK", _host.Run("HIMPORT PREPARE u name age"));
        Assert.Equal(["HSET h name ada age 36"], _host.EffectsOf("HIMPORT SET h u ada 36"));
        Assert.Equal(["MULTI", "DEL h", "HSET h name bob age 7", "EXEC"], _host.EffectsOf("HIMPORT SET h u bob 7"));
        Assert.Equal("[name bob age 7]", _host.Run("HGETALL h"));
        Assert.Equal("listpack", _host.Run("OBJECT ENCODING h"));
        Assert.Equal("1", _host.Run("COPY h i"));
        Assert.Equal("OK", _host.Run("RENAME h j"));
        Assert.Equal("1", _host.Run("HSET i city Rome"));
        Assert.Equal("[name bob age 7 city Rome]", _host.Run("HGETALL i"));
        Assert.Equal("[name bob age 7]", _host.Run("HGETALL j"));
        // The import overwrites hashes only. The type of the key is checked first.
        Assert.Equal("OK", _host.Run("HIMPORT SET j u eve 8"));
        Assert.Equal("[name eve age 8]", _host.Run("HGETALL j"));
        Assert.Equal("OK", _host.Run("SET h text"));
        Assert.Equal(Errors.WrongType, _host.Run("HIMPORT SET h nosuch eve 8"));
        Assert.Equal("ERR value count does not match fieldset field count", _host.Run("HIMPORT SET j u eve"));
        Assert.Equal("1", _host.Run("HIMPORT DISCARDALL"));
    }

    /// <summary>The data does not change while clients are paused.</summary>
    [Fact]
    public void AReadDuringAPauseRemovesNoField()
    {
        // A pause ends by the real clock.
        var host = new CommandHost { Now = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() };
        host.Run("HSET h gone 1 other 2");
        host.Run("HPEXPIRE h 100 FIELDS 1 gone");
        host.Now += 1000;
        Assert.Equal("OK", host.Run("CLIENT PAUSE 100000 WRITE"));
        foreach (string read in new[] { "HGET h gone", "HMGET h gone other", "HRANDFIELD h 5", "HGETALL h", "HEXISTS h gone" })
            Assert.Empty(host.EffectsOf(read));
        Assert.Equal("2", host.Run("HLEN h"));
        Assert.Equal("[other 2]", host.Run("HGETALL h"));
        Assert.Equal("OK", host.Run("CLIENT UNPAUSE"));
        Assert.Equal(["HDEL h gone"], host.EffectsOf("HGET h gone"));
    }
}
