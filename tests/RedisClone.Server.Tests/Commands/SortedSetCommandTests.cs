namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// Sorted sets: options, ranges, pops and set operations, and geographic positions, which are stored in sorted sets.
/// </summary>
public sealed class SortedSetCommandTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("ZADD z XX CH 5 a 7 q", "1")]
    [InlineData("ZADD z GT 0.5 a", "0")]
    [InlineData("ZADD z NX XX 1 a", "ERR XX and NX options at the same time are not compatible")]
    [InlineData("ZADD z INCR 1 a 2 b", "ERR INCR option supports a single increment-element pair")]
    [InlineData("ZADD z nan a", "ERR value is not a valid float")]
    [InlineData("ZINCRBY z 1.5 a", "2.5")]
    [InlineData("ZRANK z b WITHSCORE", "[1 2]")]
    [InlineData("ZREVRANK z c", "0")]
    [InlineData("ZMSCORE z a q", "[1 nil]")]
    [InlineData("ZCOUNT z (1 +inf", "2")]
    [InlineData("ZCOUNT z (\t1 \n+inf", "2")]
    [InlineData("ZCOUNT z (1e-400 1e309", "3")]
    [InlineData("ZCOUNT z \t +inf", "ERR min or max is not a float")]
    [InlineData("ZLEXCOUNT z - [b", "2")]
    [InlineData("ZRANGE z +inf (1 BYSCORE REV LIMIT 1 5", "[b]")]
    [InlineData("ZRANGE z 0 1 LIMIT 0 1", "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")]
    [InlineData("ZRANGE z 0 -1 BYLEX", "ERR min or max not valid string range item")]
    [InlineData("ZREVRANGE z 0 9223372036854775807", "[c b a]")]
    [InlineData("ZRANGESTORE z z 1 1", "1")]
    [InlineData("ZPOPMAX z 2", "[c 3 b 2]")]
    [InlineData("ZMPOP 2 no z MIN", "[z [[a 1]]]")]
    [InlineData("BZPOPMIN no z 0", "[z a 1]")]
    [InlineData("ZREMRANGEBYSCORE z -inf (3", "2")]
    [InlineData("ZUNION 2 z s WITHSCORES", "[a 2 b 2 c 4]")]
    [InlineData("ZUNION 2 z s AGGREGATE MAX WEIGHTS 1 10 WITHSCORES", "[b 2 a 10 c 10]")]
    [InlineData("ZUNION 2 z s WEIGHTS 3 10 AGGREGATE COUNT WITHSCORES", "[b 3 a 13 c 13]")]
    [InlineData("ZINTER 2 z s", "[a c]")]
    [InlineData("ZINTERCARD 2 z s LIMIT 1", "1")]
    [InlineData("ZDIFF 2 z s", "[b]")]
    [InlineData("ZUNION 9223372036854775807 z", "ERR syntax error")]
    [InlineData("ZUNION 0 z", "ERR at least 1 input key is needed for 'zunion' command")]
    [InlineData("ZDIFFSTORE z 1 nothing", "0")]
    public void ACommandHasTheExpectedReply(string command, string expected)
    {
        _host.Run("ZADD z 1 a 2 b 3 c");
        _host.Run("SADD s a c");
        Assert.Equal(expected, _host.Run(command));
    }

    [Theory]
    [InlineData("BZPOPMIN z 0", "ZPOPMIN z")]
    [InlineData("BZMPOP 0 1 z MAX COUNT 5", "ZPOPMAX z 2")]
    [InlineData("GEOADD z 13.361389 38.115556 Palermo", "ZADD z 3479099956230698 Palermo")]
    public void EffectsNeverContainBlockingCommands(string command, string effect)
    {
        _host.Run("ZADD z 1 a 2 b");
        Assert.Equal([effect], _host.EffectsOf(command));
    }

    /// <summary>
    /// Among different scores, the members of a lexicographical range depend on the structure of the set, so the effect names them.
    /// </summary>
    [Theory]
    [InlineData("ZADD z 1 a 1 b 1 c", "ZREMRANGEBYLEX z - [b")]
    [InlineData("ZADD z 1 a 2 b 3 c", "ZREM z a b")]
    public void TheEffectOfARemovalByMemberNamesWhatItRemoves(string members, string effect)
    {
        _host.Run(members);
        Assert.Equal([effect], _host.EffectsOf("ZREMRANGEBYLEX z - [b"));
        Assert.Equal("[c]", _host.Run("ZRANGE z 0 -1"));
    }

    [Theory]
    [InlineData("GEODIST g Palermo Catania km", "166.2742")]
    [InlineData("GEOHASH g Palermo Catania no", "[sqc8b49rny0 sqdtr74hyu0 nil]")]
    [InlineData("GEOPOS g Palermo", "[[13.361389338970184 38.1155563954963]]")]
    [InlineData("GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST", "[[Catania 56.4413] [Palermo 190.4424]]")]
    [InlineData("GEOSEARCH g FROMMEMBER Palermo BYBOX 400 400 km DESC COUNT 1", "[Catania]")]
    [InlineData("GEOSEARCH g FROMLONLAT 15 37 ASC", "ERR wrong number of arguments for 'geosearch' command")]
    [InlineData("GEORADIUS g 15 37 100 km STORE other", "1")]
    [InlineData("GEOADD g 181 0 x", "ERR invalid longitude,latitude pair 181.000000,0.000000")]
    public void GeographicSearchesHaveTheExpectedReply(string command, string expected)
    {
        _host.Run("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania");
        Assert.Equal(expected, _host.Run(command));
    }
}
