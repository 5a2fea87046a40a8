using Xunit.Abstractions;


namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// HyperLogLog: the bytes of Redis, the agreement of the two encodings, and the detection of damage in any place.
/// </summary>
public sealed class HyperLogLogTests(ITestOutputHelper output)
{
    private readonly CommandHost _host = new();

    [Fact]
    public void FewElementsHaveTheBytesOfRedis()
    {
        Assert.Equal("1", _host.Run("PFADD k"));
        Assert.Equal("HYLL\u0001\0\0\0\0\0\0\0\0\0\0\u0080\u007f\u00ff", _host.Run("GET k"));
        Assert.Equal("0", _host.Run("PFADD k"));
        Assert.Equal("0", _host.Run("PFCOUNT k"));
        Assert.Equal("1", _host.Run("PFADD k a b c"));
        Assert.Equal("0", _host.Run("PFADD k c b a"));
        // redis-server 7.0.15 and 7.4.1 give this result.
        Assert.Equal("Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603", _host.Run("PFDEBUG DECODE k"));
        Assert.Equal("3", _host.Run("PFCOUNT k"));
        Assert.Equal("HYLL\u0001\0\0\0\u0003\0\0\0\0\0\0\0", _host.Run("GETRANGE k 0 15"));
        Assert.Equal("raw", _host.EncodingOf("k"));
        Assert.Equal("sparse", _host.Run("PFDEBUG ENCODING k"));
        Assert.Equal("1", _host.Run("PFDEBUG TODENSE k"));
        Assert.Equal("0", _host.Run("PFDEBUG TODENSE k"));
        Assert.Equal("12304", _host.Run("STRLEN k"));
        Assert.Equal("3", _host.Run("PFCOUNT k"));
        Assert.Equal("ERR HLL encoding is not sparse", _host.Run("PFDEBUG DECODE k"));
        Assert.Equal("ERR Unknown PFDEBUG subcommand 'x'", _host.Run("PFDEBUG x k"));
        Assert.Equal("ERR The specified key does not exist", _host.Run("PFDEBUG ENCODING none"));
    }

    [Fact]
    public void BothEncodingsAgreeAndAreAccurate()
    {
        var random = Seed.Random(output);
        int added = 0;
        _host.Run("PFADD dense");
        _host.Run("PFDEBUG TODENSE dense");
        for (int target = 10; target <= 20_000; target *= 3)
        {
            var words = new List<string> { "PFADD", "k" };
            for (; added < target; added++) words.Add($"{added}:{random.Next()}");
            _host.Call([.. words]);
            words[1] = "dense";
            _host.Call([.. words]);
            long count = long.Parse(_host.Run("PFCOUNT k"));
            Assert.Equal(count.ToString(), _host.Run("PFCOUNT dense"));
            Assert.Equal(_host.Run("PFCOUNT k dense"), _host.Run("PFCOUNT dense"));
            Assert.InRange(count, added - added * 0.06 - 2, added + added * 0.06 + 2);
        }
        Assert.Equal("dense", _host.Run("PFDEBUG ENCODING k"));
        Assert.Equal(_host.Run("PFDEBUG GETREG dense"), _host.Run("PFDEBUG GETREG k"));
    }

    [Fact]
    public void MergingEqualsAddingToOneKey()
    {
        var random = Seed.Random(output);
        for (int round = 0; round < 40; round++)
        {
            _host.Run("DEL a b c all");
            foreach (string key in (string[])["a", "b", "c"])
            {
                string[] elements = [.. Enumerable.Range(0, random.Next(0, 200)).Select(_ => random.Next(400).ToString())];
                _host.Call(["PFADD", key, .. elements]);
                _host.Call(["PFADD", "all", .. elements]);
            }
            if (random.Next(3) == 0) _host.Run("PFDEBUG TODENSE b");
            Assert.Equal("OK", _host.Run("PFMERGE a b c none"));
            Assert.Equal(_host.Run("PFCOUNT all"), _host.Run("PFCOUNT a"));
            Assert.Equal(_host.Run("PFDEBUG GETREG all"), _host.Run("PFDEBUG GETREG a"));
        }
    }

    [Fact]
    public void DamageIsDetectedAndHarmless()
    {
        const string invalid = "INVALIDOBJ Corrupted HLL object detected", foreign = "WRONGTYPE Key is not a valid HyperLogLog string value.";
        Assert.Equal("OK", _host.Run("SET k 123"));
        Assert.Equal(foreign, _host.Run("PFADD k x"));
        _host.Run("DEL k");
        _host.Run("PFADD k a b c");
        _host.Run("APPEND k hello");
        Assert.Equal(invalid, _host.Run("PFCOUNT k"));
        Assert.Equal(invalid, _host.Run("PFCOUNT k none"));
        Assert.Equal(invalid, _host.Run("PFMERGE d k"));
        Assert.Equal(invalid, _host.Run("PFDEBUG TODENSE k"));

        var random = Seed.Random(output);
        for (int round = 0; round < 2000; round++)
        {
            _host.Run("DEL k");
            string[] elements = [.. Enumerable.Range(0, random.Next(0, 100)).Select(_ => random.Next().ToString())];
            _host.Call(["PFADD", "k", .. elements]);
            for (int i = random.Next(1, 4); i > 0; i--)
            {
                int length = int.Parse(_host.Run("STRLEN k"));
                _host.Call("SETRANGE", "k", random.Next(4, length + 1).ToString(), ((char)random.Next(256)).ToString());
            }
            string[] commands = ["PFCOUNT k", "PFADD k x y z", "PFMERGE d k", "PFCOUNT k d", "PFDEBUG DECODE k"];
            string replies = string.Join(' ', commands.Select(command => _host.Run(command)));
            Assert.DoesNotContain("internal error", replies, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void CountingIsJournaledOnlyWhenItChangesTheCache()
    {
        _host.Run("PFADD k a b c");
        Assert.Equal(["PFCOUNT k"], _host.EffectsOf("PFCOUNT k"));
        Assert.Empty(_host.EffectsOf("PFCOUNT k"));
        Assert.Empty(_host.EffectsOf("PFADD k a"));
        Assert.Equal(["PFADD k d"], _host.EffectsOf("PFADD k d"));
    }

    [Fact]
    public void TheLimitOfTheSparseEncodingIsObserved()
    {
        _host.Core.Config.HllSparseMaxBytes = 30;
        _host.Run("PFADD k a b c");
        Assert.Equal("sparse", _host.Run("PFDEBUG ENCODING k"));
        _host.Run("PFADD k d e f g h");
        Assert.Equal("dense", _host.Run("PFDEBUG ENCODING k"));
    }

    [Fact]
    public void TheEffectOfBecomingDenseIsTheWholeValue()
    {
        _host.Core.Config.HllSparseMaxBytes = 30;
        Assert.Equal(["PFADD k a b c"], _host.EffectsOf("PFADD k a b c"));
        string effect = Assert.Single(_host.EffectsOf("PFADD k d e f g h"));
        Assert.StartsWith("SET k HYLL", effect, StringComparison.Ordinal);
        Assert.EndsWith(" KEEPTTL", effect, StringComparison.Ordinal);
        Assert.Equal(["PFADD k i"], _host.EffectsOf("PFADD k i"));
        Assert.StartsWith("SET merged HYLL", Assert.Single(_host.EffectsOf("PFMERGE merged k")), StringComparison.Ordinal);
    }
}
