using System.Text;

namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// Consumer groups: pending entries, the reports about them, and the replay of effects, which leads to the same state.
/// </summary>
public sealed class StreamGroupCommandTests
{
    private readonly CommandHost _host = new();

    public StreamGroupCommandTests()
    {
        for (int i = 1; i <= 5; i++) _host.Run($"XADD s {i}-0 a {i}");
        _host.Run("XGROUP CREATE s g 0");
        _host.Run("XREADGROUP GROUP g c1 COUNT 3 STREAMS s >");
    }

    [Theory]
    [InlineData("XGROUP CREATE s g $", "BUSYGROUP Consumer Group name already exists")]
    [InlineData(
        "XGROUP CREATE no g $",
        "ERR The XGROUP subcommand requires the key to exist. " +
        "Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.")]
    [InlineData("XGROUP DELCONSUMER s g c1", "3")]
    [InlineData("XGROUP DELCONSUMER s x c1", "NOGROUP No such consumer group 'x' for key name 's'")]
    [InlineData("XGROUP CREATECONSUMER s g c1", "0")]
    [InlineData("XREADGROUP GROUP g c2 COUNT 1 STREAMS s >", "[[s [[4-0 [a 4]]]]]")]
    [InlineData("XREADGROUP GROUP g c1 COUNT 1 STREAMS s 1", "[[s [[2-0 [a 2]]]]]")]
    [InlineData("XREADGROUP GROUP g c2 STREAMS s 0", "[[s []]]")]
    [InlineData("XREADGROUP GROUP x c STREAMS s >", "NOGROUP No such key 's' or consumer group 'x' in XREADGROUP with GROUP option")]
    [InlineData("XREADGROUP GROUP g c2 CLAIM 0 COUNT 4 STREAMS s >", "[[s [[1-0 [a 1] 0 1] [2-0 [a 2] 0 1] [3-0 [a 3] 0 1] [4-0 [a 4] 0 0]]]]")]
    [InlineData("XREADGROUP GROUP g c2 CLAIM 9223372036854775807 COUNT 1 STREAMS s >", "[[s [[4-0 [a 4] 0 0]]]]")]
    [InlineData("XACK s g 1 2 9", "2")]
    [InlineData("XPENDING s g", "[3 1-0 3-0 [[c1 3]]]")]
    [InlineData("XPENDING s g - + 1", "[[1-0 c1 0 1]]")]
    [InlineData("XPENDING s g - + 9 nobody", "[]")]
    [InlineData("XPENDING s g IDLE 1 - + 9", "[]")]
    [InlineData("XCLAIM s g c2 0 1 5 JUSTID", "[1-0]")]
    [InlineData("XCLAIM s g c2 0 5 FORCE", "[[5-0 [a 5]]]")]
    [InlineData("XCLAIM s g c2 1 1 JUSTID", "[]")]
    [InlineData("XCLAIM s g c2 0 1 NOSUCH", "ERR Unrecognized XCLAIM option 'NOSUCH'")]
    [InlineData("XAUTOCLAIM s g c2 0 - COUNT 2 JUSTID", "[3-0 [1-0 2-0] []]")]
    [InlineData("XAUTOCLAIM s g c2 0 - COUNT 9223372036854775807", "ERR COUNT must be > 0")]
    [InlineData("XAUTOCLAIM s g c2 0 - COUNT 576460752303423487 JUSTID", "[0-0 [1-0 2-0 3-0] []]")]
    [InlineData("XINFO GROUPS s", "[[name g consumers 1 pending 3 last-delivered-id 3-0 entries-read 3 lag 2]]")]
    [InlineData("XINFO CONSUMERS s g", "[[name c1 pending 3 idle 0 inactive 0]]")]
    [InlineData("XNACK s g FAIL IDS 2 1-0 9-9", "1")]
    [InlineData("XNACK s g NO IDS 1 1-0", "ERR mode must be SILENT, FAIL, or FATAL")]
    [InlineData("XNACK s g FAIL IDS 2 1-0", "ERR number of IDs doesn't match numids")]
    [InlineData("XNACK s g FAIL FORCE RETRYCOUNT 1", "ERR syntax error, expected IDS keyword")]
    [InlineData("XACKDEL s g IDS 2 1-0 4-0", "[1 -1]")]
    [InlineData("XACKDEL no g IDS 2 1-0 4-0", "[-1 -1]")]
    [InlineData("XACKDEL s g IDS 0 1-0", "ERR Number of IDs must be a positive integer")]
    [InlineData("XACKDEL s g IDS 3 1-0 2-0", "ERR The `numids` parameter must match the number of arguments")]
    [InlineData("XDELEX s ACKED IDS 3 1-0 4-0 9-0", "[2 2 -1]")]
    [InlineData("XDELEX s KEEPREF DELREF IDS 1 1-0", "ERR syntax error")]
    [InlineData("XDELEX s DELREF IDS 1 1-0", "[1]")]
    public void ACommandHasTheExpectedReply(string command, string expected) => Assert.Equal(expected, _host.Run(command));

    [Fact]
    public void ReturnedEntriesAreClaimedFirstInTheOrderOfTheirReturn()
    {
        _host.Run("XNACK s g FAIL IDS 3 1-0 2-0 3-0");
        Assert.Equal("1", _host.Run("XNACK s g SILENT IDS 1 1-0"));
        Assert.Equal("[[1-0  -1 0] [2-0  -1 1] [3-0  -1 1]]", _host.Run("XPENDING s g - + 9"));
        foreach (string source in (string[])["s", "copy"])
        {
            _host.Run("COPY s copy REPLACE");
            string payload = _host.Call("DUMP", source);
            _host.Call("RESTORE", "again", "0", payload, "REPLACE");
            Assert.Equal(
                "[[again [[2-0 [a 2] -1 1] [3-0 [a 3] -1 1] [1-0 [a 1] -1 0]]]]",
                _host.Run("XREADGROUP GROUP g c2 CLAIM 99999 COUNT 3 STREAMS again >"));
        }
        Assert.Contains("nacked-count 3", _host.Run("XINFO STREAM s FULL"), StringComparison.Ordinal);
        _host.Run("XNACK s g FATAL IDS 1 1-0");
        Assert.Equal("[[1-0 [a 1]]]", _host.Run("XCLAIM s g c3 100 1-0"));
        Assert.Equal("[[1-0 c3 0 9223372036854775807]]", _host.Run("XPENDING s g - + 1"));
    }

    [Fact]
    public void AClaimForgetsDeletedEntries()
    {
        _host.Run("XDEL s 1-0 2-0");
        Assert.Equal("[[s [[1-0 nil] [2-0 nil] [3-0 [a 3]]]]]", _host.Run("XREADGROUP GROUP g c1 STREAMS s 0"));
        Assert.Equal("[]", _host.Run("XCLAIM s g c2 0 1-0"));
        Assert.Equal("[0-0 [[3-0 [a 3]]] [2-0]]", _host.Run("XAUTOCLAIM s g c2 0 -"));
        Assert.Equal("[1 3-0 3-0 [[c2 1]]]", _host.Run("XPENDING s g"));
    }

    [Fact]
    public void EntriesThatAGroupHasNotAcknowledgedAreKept()
    {
        _host.Run("XGROUP CREATE s late 0");
        Assert.Equal("0", _host.Run("XTRIM s MAXLEN 1 ACKED"));
        _host.Run("XREADGROUP GROUP late c COUNT 2 STREAMS s >");
        _host.Run("XACK s late 1-0 2-0");
        _host.Run("XACK s g 2-0");
        Assert.Equal("1", _host.Run("XTRIM s MAXLEN 1 ACKED"));
        Assert.Equal("[[1-0 [a 1]]]", _host.Run("XRANGE s - + COUNT 1"));
        Assert.Equal("3", _host.Run("XTRIM s MAXLEN 1 DELREF"));
        Assert.Equal("[0 nil nil nil]", _host.Run("XPENDING s g"));
        Assert.Equal("[-1]", _host.Run("XACKDEL s late ACKED IDS 1 5-0"));
        Assert.Equal("[2]", _host.Run("XDELEX s ACKED IDS 1 5-0"));
    }

    /// <summary>
    /// Each changing command runs on one server, and its effects run on another server. The two servers have the same contents
    /// afterwards.
    /// </summary>
    [Fact]
    public void ReplayedEffectsLeadToTheSameContents()
    {
        var commands = new List<string>
        {
            "XADD s * a 6", "XADD s MAXLEN ~ 3 * b 7 c 8", "XADD t IDMP p m * a 1", "XADD t IDMP p m * a 1", "XGROUP CREATE t h $ ENTRIESREAD 1",
            "XGROUP CREATE new h $ MKSTREAM", "XREADGROUP GROUP g c2 COUNT 1 STREAMS s >", "XREADGROUP GROUP g c2 NOACK COUNT 1 STREAMS s >",
            "XREADGROUP GROUP g c1 STREAMS s 0", "XREADGROUP GROUP g idle STREAMS s 0", "XCLAIM s g c3 0 1-0 2-0",
            "XCLAIM s g c3 0 3-0 IDLE 5 RETRYCOUNT 9 LASTID 5-0",
            "XDEL s 2-0", "XAUTOCLAIM s g c1 0 -", "XREADGROUP GROUP g c4 CLAIM 0 STREAMS s >", "XNACK s g FAIL IDS 2 1-0 3-0",
            "XNACK s g SILENT IDS 1 5-0 FORCE",
            "XACK s g 4-0", "XACKDEL s g DELREF IDS 1 3-0", "XDELEX s ACKED IDS 2 1-0 5-0", "XSETID s 1900000000000-5 ENTRIESADDED 20 MAXDELETEDID 5-5",
            "XGROUP SETID s g 1-0 ENTRIESREAD 1000", "XREADGROUP GROUP g c1 COUNT 1 STREAMS s >",
            "EVAL redis.call('XREADGROUP','GROUP','g','c2','COUNT','1','NOACK','STREAMS',KEYS[1],'>') 1 s",
            "XGROUP CREATE s far 2-0 ENTRIESREAD 500",
            "XGROUP SETID s g 1-0", "XGROUP DELCONSUMER s g c2", "XTRIM s MAXLEN = 3 ACKED", "XTRIM s MAXLEN 2 DELREF", "XGROUP DESTROY t h",
            "XCFGSET t IDMP-DURATION 7 IDMP-MAXSIZE 3", "COPY s z", "RENAME t u",
        };
        for (int i = 1; i <= 5; i++) _host.Run($"XADD s {i}-0 a {i}");
        var other = new CommandHost { Now = _host.Now + 1_000_000 };
        for (int i = 1; i <= 5; i++) other.Run($"XADD s {i}-0 a {i}");
        other.Run("XGROUP CREATE s g 0");
        other.Run($"XCLAIM s g c1 0 1-0 2-0 3-0 TIME {_host.Now} RETRYCOUNT 1 FORCE JUSTID LASTID 3-0");
        other.Run("XGROUP SETID s g 3-0 ENTRIESREAD 3");
        Assert.Equal(_host.Run("DEBUG DIGEST"), other.Run("DEBUG DIGEST"));
        foreach (string command in commands)
        {
            _host.Now += 10;
            var done = new StringBuilder();
            foreach (string effect in _host.EffectsOf(command).Where(e => e is not ("MULTI" or "EXEC")))
            {
                string reply = other.Run(effect);
                Assert.False(reply.StartsWith("ERR", StringComparison.Ordinal) || reply.StartsWith("NO", StringComparison.Ordinal), $"{effect}: {reply}");
                done.AppendLine(effect);
            }
            Assert.True(_host.Run("DEBUG DIGEST") == other.Run("DEBUG DIGEST"), $"{command} had these effects:\n{done}");
        }
        Assert.Equal(0, _host.Core.Lanes.Sum(static lane => lane.UnexpectedErrors));
    }
}
