using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>CLUSTER SLOT-STATS. The oracle does not have it.</summary>
public sealed class SlotStatisticsTests
{
    // The slots of the keys foo and bar
    private const string Foo = "12182", Bar = "5061";

    [Fact]
    public void TheUseOfSlotsIsCounted()
    {
        using ServerProcess node = ClusterOfNodes.Start('o');
        using RespClient client = node.Connect();
        client.Expect("+OK", "CLUSTER", "ADDSLOTS", Foo, Bar);
        client.Expect("+OK", "CONFIG", "SET", "cluster-require-full-coverage", "no");
        FollowingTests.Until(() => ClusterOfNodes.IsUp(node), "the cluster is down", node);
        client.Expect("+OK", "MSET", "{foo}1", "a", "{foo}2", "b");
        Assert.Equal($"[:{Foo} [\"key-count\" :2]]", Row(client, "SLOTSRANGE", Foo, "16383"));
        client.Expect("-ERR Unrecognized sort metric for ORDERBY.", "CLUSTER", "SLOT-STATS", "ORDERBY", "cpu-usec");

        client.Expect("+OK", "CONFIG", "SET", "cluster-slot-stats-enabled", "yes");
        client.Expect("$\"a\"", "GET", "{foo}1");
        client.Expect("*[$\"a\" $\"b\"]", "MGET", "{foo}1", "{foo}2");
        client.Expect("+OK", "MULTI");
        client.Expect("+QUEUED", "STRLEN", "{foo}1");
        client.Call("EXEC");
        client.Expect(":1", "EVAL", "return redis.call('STRLEN', KEYS[1])", "1", "{foo}1");
        Reply[] figures = client.Call("CLUSTER", "SLOT-STATS", "SLOTSRANGE", Foo, Foo).Items![0].Items![1].Items!;
        Assert.Equal(["key-count", "cpu-usec", "network-bytes-in", "network-bytes-out"], figures.Where((_, i) => i % 2 == 0).Select(static name => name.Text));
        // GET, MGET, STRLEN and EVAL, and their replies. The command of the script is part of EVAL.
        Assert.Equal(25 + 38 + 28 + 76, figures[5].Integer);
        Assert.Equal(7 + 18 + 4 + 4, figures[7].Integer);
        client.Expect(":0", "EXISTS", "bar");
        Assert.Equal([Bar, Foo], Order(client, "network-bytes-in", "ASC"));
        Assert.Equal([Foo, Bar], Order(client, "network-bytes-in", "DESC"));
        Assert.Equal([Foo], Order(client, "key-count", "LIMIT", "1"));

        // A slot that the node gave away begins anew.
        client.Expect("+OK", "CLUSTER", "DELSLOTS", Bar);
        client.Expect("+OK", "CLUSTER", "ADDSLOTS", Bar);
        Assert.Equal(0, client.Call("CLUSTER", "SLOT-STATS", "SLOTSRANGE", Bar, Bar).Items![0].Items![1].Items![5].Integer);
        client.Expect("+OK", "CONFIG", "RESETSTAT");
        Assert.Equal(0, client.Call("CLUSTER", "SLOT-STATS", "SLOTSRANGE", Foo, Foo).Items![0].Items![1].Items![5].Integer);
    }

    [Theory]
    [InlineData("-ERR Start slot number 2 is greater than end slot number 1", "SLOTSRANGE", "2", "1")]
    [InlineData("-ERR Invalid or out of range slot", "SLOTSRANGE", "0", "16384")]
    [InlineData("-ERR Unrecognized sort metric for ORDERBY.", "ORDERBY", "memory-bytes")]
    [InlineData("-ERR Limit has to lie in between 1 and 16384 (maximum number of slots).", "ORDERBY", "key-count", "LIMIT", "0")]
    [InlineData("-ERR Multiple filters of the same type are disallowed.", "ORDERBY", "key-count", "ASC", "DESC")]
    [InlineData("-ERR syntax error", "ORDERBY", "key-count", "FIRST")]
    [InlineData("-ERR unknown subcommand or wrong number of arguments for 'SLOT-STATS'. Try CLUSTER HELP.", "SLOTSRANGE", "1")]
    public void WrongArgumentsAreRefused(string error, params string[] arguments)
    {
        using ServerProcess node = ClusterOfNodes.Start('o');
        using RespClient client = node.Connect();
        client.Expect(error, ["CLUSTER", "SLOT-STATS", .. arguments]);
    }

    private static string Row(RespClient client, params string[] arguments)
    {
        Reply row = client.Call(["CLUSTER", "SLOT-STATS", .. arguments]).Items![0];
        return $"[:{row.Items![0].Integer} [\"{row.Items[1].Items![0].Text}\" :{row.Items[1].Items![1].Integer}]]";
    }

    private static IEnumerable<string> Order(RespClient client, params string[] arguments) =>
        client.Call(["CLUSTER", "SLOT-STATS", "ORDERBY", .. arguments]).Items!.Select(static row => $"{row.Items![0].Integer}");
}
