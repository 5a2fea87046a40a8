using RedisClone.Configuration;
using RedisClone.Engine.Scripting;

namespace RedisClone.Server.Tests.Commands;

/// <summary>Strings and ranges of strings: replies, errors and their order, effects.</summary>
public sealed class StringCommandTests
{
    private readonly CommandHost _host = new();

    [Fact]
    public void SetObeysItsConditions()
    {
        Script("""
            SET k v NX -> OK
            SET k w NX -> nil
            SET k w XX GET -> v
            SET k x NX GET -> w
            SET none v XX -> nil
            SET none v XX GET -> nil
            GET none -> nil
            SET k z IFEQ other -> nil
            SET k z IFEQ w -> OK
            SET k 12 IFNE z -> nil
            SET k 12 ifne y -> OK
            SET k a IFEQ 12 GET -> 12
            SET none v IFEQ v -> nil
            SET none v IFDEQ tooshort -> nil
            SET none v IFNE v -> OK
            SET other v IFDNE tooshort -> OK
            SET k hello -> OK
            DIGEST k -> 9555e8555c62dcfd
            DIGEST missing -> nil
            SET k x IFDEQ 9555e8555c62dcf -> ERR must be exactly 16 hexadecimal characters
            SET k x IFDEQ 0000000000000000 -> nil
            SET k x IFDNE 9555E8555C62DCFD -> nil
            SET k x IFDEQ 9555E8555C62DCFD -> OK
            """);
    }

    [Theory]
    [InlineData("SET k v NX XX")]
    [InlineData("SET k v NX IFEQ v")]
    [InlineData("SET k v IFEQ a IFNE b")]
    [InlineData("SET k v IFEQ")]
    [InlineData("SET k v EX 1 PX 1")]
    [InlineData("SET k v EX 1 KEEPTTL")]
    [InlineData("SET k v EX")]
    [InlineData("SET k v PERSIST")]
    [InlineData("SET k v nonsense")]
    [InlineData("GETEX k KEEPTTL")]
    [InlineData("GETEX k EX 1 PERSIST")]
    [InlineData("MSETEX 1 k v IFEQ v")]
    public void ContradictoryOptionsAreSyntaxErrors(string command) => Assert.Equal("ERR syntax error", _host.Run(command));

    [Theory]
    [InlineData("SET k v EX 0", "set")]
    [InlineData("SET k v EX 9223372036854775807", "set")]
    [InlineData("SET k v PX 9223372036854775807", "set")]
    [InlineData("SETEX k -1 v", "setex")]
    [InlineData("PSETEX k 0 v", "psetex")]
    [InlineData("MSETEX 1 k v EXAT -5", "msetex")]
    [InlineData("INCREX k EX 0", "increx")]
    public void AnExpiryMustBePositiveAndInRange(string command, string name) =>
        Assert.Equal($"ERR invalid expire time in '{name}' command", _host.Run(command));

    [Fact]
    public void AnExpiryIsKeptOrChanged()
    {
        _host.Run("SET k v EX 100");
        Assert.Equal(_host.Now + 100_000, ExpiryOf("k"));
        _host.Run("SET k w KEEPTTL");
        Assert.Equal(_host.Now + 100_000, ExpiryOf("k"));
        _host.Run("SET k v EX 5 EX 7");
        Assert.Equal(_host.Now + 7_000, ExpiryOf("k"));
        Assert.Equal("v", _host.Run("GETEX k PERSIST"));
        Assert.Equal(0, ExpiryOf("k"));
        Assert.Equal("v", _host.Run("GETEX k PXAT 1800000000000"));
        Assert.Equal(1_800_000_000_000, ExpiryOf("k"));
        Assert.Equal("OK", _host.Run("SET k v"));
        Assert.Equal(0, ExpiryOf("k"));
        _host.Run("SETEX k 10 v");
        _host.Now += 10_000;
        Assert.Equal("nil", _host.Run("GET k"));
        _host.Run("SET k v");
        Assert.Equal("v", _host.Run("GETEX k EXAT 1"));
        Assert.Equal("0", _host.Run("EXISTS k"));
    }

    [Fact]
    public void WrongTypesAreRefused()
    {
        _host.Run("RPUSH list x");
        foreach (string command in (string[])
            [
                "GET list", "GETSET list v", "GETDEL list", "GETEX list", "SET list v GET", "SET list v IFEQ x", "SET list v IFDNE x", "STRLEN list",
                "APPEND list v", "SETRANGE list 0 v", "SETRANGE list 0 ", "GETRANGE list 0 1", "INCR list", "INCRBYFLOAT list 1", "INCREX list",
                "DIGEST list", "SETBIT list 0 1", "GETBIT list 0", "BITCOUNT list", "BITPOS list 1", "BITOP NOT d list", "BITFIELD list GET u8 0",
                "BITFIELD list SET u8 0 1", "PFADD list x", "PFCOUNT list", "PFMERGE list", "PFMERGE d list", "PFDEBUG ENCODING list",
            ])
        {
            Assert.Equal("WRONGTYPE Operation against a key holding the wrong kind of value", _host.Run(command));
        }
        Assert.Equal("ERR The specified keys must contain string values", _host.Run("LCS list k"));
        Assert.Equal("ERR Key should be of string type if conditions are specified", _host.Run("DELEX list FOO x"));
        Assert.Equal("[nil nil]", _host.Run("MGET list missing"));
        Assert.Equal("1", _host.Run("DELEX list"));
    }

    [Fact]
    public void RangesOfStringsAreReadAndWritten()
    {
        Script("""
            APPEND k 12 -> 2
            APPEND k ab -> 4
            GET k -> 12ab
            SETRANGE k 5 xyz -> 8
            GETRANGE k 0 3 -> 12ab
            GETRANGE k -3 -1 -> xyz
            SUBSTR k 2 -5 -> ab
            GETRANGE k 5 2 -> 
            GETRANGE k -1 -2 -> 
            GETRANGE missing 0 -1 -> 
            SETRANGE missing 0  -> 0
            EXISTS missing -> 0
            SETRANGE k -1 x -> ERR offset is out of range
            SETRANGE k 536870912 x -> ERR string exceeds maximum allowed size (proto-max-bulk-len)
            SETRANGE k 9223372036854775807 x -> ERR string exceeds maximum allowed size (proto-max-bulk-len)
            STRLEN k -> 8
            SET n -12345 -> OK
            STRLEN n -> 6
            GETRANGE n 1 2 -> 12
            SETRANGE n 0  -> 6
            """);
        Assert.Equal("raw", _host.EncodingOf("k"));
        Assert.Equal("int", _host.EncodingOf("n"));
        _host.Run("APPEND new 12");
        Assert.Equal("int", _host.EncodingOf("new"));
        _host.Run("INCRBYFLOAT new 1.0");
        Assert.Equal("embstr", _host.EncodingOf("new"));
        _host.Run("SETBIT bit 7 1");
        Assert.Equal("raw", _host.EncodingOf("bit"));
    }

    [Fact]
    public void SeveralKeysAreReadAndWrittenAtOnce()
    {
        Script("""
            MSET a 1 b 2 a 3 -> OK
            MGET a b c -> [3 2 nil]
            MSETNX c 1 a 9 -> 0
            EXISTS c -> 0
            MSETNX c 1 d 2 -> 1
            MSET a -> ERR wrong number of arguments for 'mset' command
            MSET a 1 b -> ERR wrong number of arguments for 'mset' command
            MSETNX a 1 b -> ERR wrong number of arguments for 'msetnx' command
            MSETEX 2 a 5 e 6 NX -> 0
            MSETEX 2 a 5 e 6 XX -> 0
            MSETEX 2 a 5 b 6 XX EX 10 -> 1
            MGET a b -> [5 6]
            MSETEX 0 a 1 -> ERR invalid numkeys value
            MSETEX x a 1 -> ERR invalid numkeys value
            MSETEX 2147483648 a 1 -> ERR invalid numkeys value
            MSETEX 2147483647 a 1 -> ERR wrong number of key-value pairs
            MSETEX 2 a 1 b -> ERR wrong number of key-value pairs
            """);
        Assert.Equal(_host.Now + 10_000, ExpiryOf("a"));
        Assert.Equal("1", _host.Run("MSETEX 1 a 7 KEEPTTL"));
        Assert.Equal(_host.Now + 10_000, ExpiryOf("a"));
    }

    [Fact]
    public void DelexObeysItsCondition()
    {
        Script("""
            DELEX k -> 0
            DELEX k IFEQ -> ERR wrong number of arguments for 'delex' command
            SET k hello -> OK
            DELEX k IFEQ world -> 0
            DELEX k IFNE hello -> 0
            DELEX k IFDEQ 123 -> ERR must be exactly 16 hexadecimal characters
            DELEX k NX 1 -> ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE
            DELEX k IFDEQ 9555e8555c62dcfd -> 1
            EXISTS k -> 0
            DELEX k IFDNE 123 -> 0
            """);
    }

    /// <summary>The effects depend neither on the clock nor on knowledge of other servers.</summary>
    [Theory]
    [InlineData("SET k v", "SET k v")]
    [InlineData("SET k v EX 10", "SET k v PXAT 1700000010000")]
    [InlineData("SET k v GET PX 10", "SET k v PXAT 1700000000010")]
    [InlineData("SET k v GET KEEPTTL", "SET k v KEEPTTL")]
    [InlineData("SET k v IFEQ old", "SET k v")]
    [InlineData("SET k v IFEQ other")]
    [InlineData("SET k v NX")]
    [InlineData("SETEX k 10 v", "SET k v PXAT 1700000010000")]
    [InlineData("PSETEX k 10 v", "SET k v PXAT 1700000000010")]
    [InlineData("GETSET k v", "SET k v")]
    [InlineData("GETDEL k", "DEL k")]
    [InlineData("GETDEL missing")]
    [InlineData("GETEX k")]
    [InlineData("GETEX k EX 10", "PEXPIREAT k 1700000010000")]
    [InlineData("GETEX k PERSIST")]
    [InlineData("GETEX t PERSIST", "PERSIST t")]
    [InlineData("GETEX k EXAT 1", "DEL k")]
    [InlineData("DELEX k IFEQ old", "DEL k")]
    [InlineData("DELEX k IFEQ other")]
    [InlineData("INCRBYFLOAT n 0.5", "SET n 5.5 KEEPTTL")]
    [InlineData("INCREX n", "SET n 6 KEEPTTL")]
    [InlineData("INCREX n EX 10", "SET n 6 PXAT 1700000010000")]
    [InlineData("INCREX t BYINT 1 EX 10 ENX", "SET t 2 KEEPTTL")]
    [InlineData("INCREX t PERSIST", "SET t 2")]
    [InlineData("INCREX n PXAT 1", "DEL n")]
    [InlineData("INCREX n UBOUND 3")]
    [InlineData("MSETEX 2 a 1 b 2 PX 10", "MULTI", "SET a 1 PXAT 1700000000010", "SET b 2 PXAT 1700000000010", "EXEC")]
    [InlineData("MSETEX 1 a 1 KEEPTTL", "SET a 1 KEEPTTL")]
    [InlineData("SETRANGE k 1 ")]
    [InlineData("SETBIT k 1 1")]
    [InlineData("SETBIT k 0 1", "SETBIT k 0 1")]
    [InlineData("BITFIELD k GET u8 0")]
    [InlineData("BITOP AND missing none")]
    [InlineData("BITOP AND k none", "BITOP AND k none")]
    public void ACommandHasTheExpectedEffects(string command, params string[] expected)
    {
        _host.Run("MSET k old n 5 t 1");
        _host.Run("GETEX t EX 1000");
        Assert.Equal(expected, _host.EffectsOf(command));
    }

    /// <summary>Runs lines that contain a command and its expected reply.</summary>
    private void Script(string lines)
    {
        foreach (string line in lines.Split('\n'))
        {
            int arrow = line.IndexOf(" -> ", StringComparison.Ordinal);
            string command = line[..arrow];
            string reply = _host.Run(command);
            Assert.True(reply == line[(arrow + 4)..], $"{line}\nthe reply is {reply}");
        }
    }

    private long ExpiryOf(string key) => long.Parse(_host.Call("PEXPIRETIME", key)) is var time && time < 0 ? 0 : time;

    /// <summary>An eviction by use would remove a hot counter otherwise.</summary>
    [Theory]
    [InlineData("SET a 2")]
    [InlineData("SET a longer-than-before")]
    [InlineData("GETSET a 2")]
    [InlineData("BITOP NOT a a")]
    [InlineData("SORT l STORE a")]
    public void AnOverwrittenKeyKeepsItsFrequency(string command)
    {
        var host = new CommandHost(static config => (config.MaxMemoryPolicy, config.LfuLogFactor) = (MaxMemoryPolicy.AllKeysLfu, 0));
        host.Run("SET a 1");
        host.Run("RPUSH l 2 1");
        for (int i = 0; i < 100; i++) host.Run("GET a");
        host.Run(command);
        Assert.InRange(int.Parse(host.Run("OBJECT FREQ a"), null), 100, 120);
    }
}
