using RedisClone.Engine.Cluster.Bus;
using RedisClone.Engine.Cluster.State;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>The operations of DEBUG that disturb the bus, as the suite of redis-server uses them.</summary>
public sealed class ClusterDebugTests
{
    private readonly CommandHost _host = new(static config => config.ClusterEnabled = true);

    [Theory]
    [InlineData("TO", true, false)]
    [InlineData("FROM", false, true)]
    [InlineData("ALL", true, true)]
    public void LinksAreClosed(string direction, bool to, bool from)
    {
        var node = new ClusterNode(NodeId.New(), NodeFlags.Primary, 0);
        ClusterBus bus = _host.Core.Cluster!.Bus;
        _host.Core.Cluster.State.Add(node);
        node.Link = new BusLink(bus, node, 0);
        node.Inbound = new BusLink(bus, null, 0) { Node = node };
        Assert.Contains("OK", _host.Run($"DEBUG CLUSTERLINK KILL {direction} {node.Name}"), StringComparison.Ordinal);
        Assert.Equal((to, from), (node.Link is null, node.Inbound is null));
    }

    [Fact]
    public void WrongArgumentsAreRefused()
    {
        Assert.Contains("ERR Unknown node x", _host.Run("DEBUG CLUSTERLINK KILL TO x"), StringComparison.Ordinal);
        string name = _host.Core.Cluster!.State.Myself.Name;
        Assert.Contains("ERR Unknown direction x", _host.Run($"DEBUG CLUSTERLINK KILL x {name}"), StringComparison.Ordinal);
        Assert.Contains("ERR syntax error", _host.Run($"DEBUG CLUSTERLINK x TO {name}"), StringComparison.Ordinal);
        Assert.Contains("ERR value is not an integer", _host.Run("DEBUG DROP-CLUSTER-PACKET-FILTER x"), StringComparison.Ordinal);
        Assert.Contains("ERR Debug option only available for cluster mode", new CommandHost().Run("DEBUG CLUSTERLINK KILL TO x"), StringComparison.Ordinal);
    }

    [Fact]
    public void MessagesOfATypeAreIgnored()
    {
        ClusterBus bus = _host.Core.Cluster!.Bus;
        var sender = new ClusterNode(NodeId.New(), NodeFlags.Primary, 0);
        _host.Core.Cluster.State.Add(sender);
        var link = new BusLink(bus, null, 0);
        byte[] message = bus.Messages.Ping(MessageType.Ping, link);
        System.Text.Encoding.ASCII.GetBytes(sender.Name).CopyTo(message, MessageLayout.Sender);
        Assert.Contains("OK", _host.Run("DEBUG DROP-CLUSTER-PACKET-FILTER 0"), StringComparison.Ordinal);
        Assert.True(bus.Receive(link, message));
        Assert.Equal((0, null), (link.PendingBytes, sender.Inbound));
        Assert.Contains("OK", _host.Run("DEBUG DROP-CLUSTER-PACKET-FILTER -1"), StringComparison.Ordinal);
        Assert.True(bus.Receive(link, message));
        Assert.Same(link, sender.Inbound);
        Assert.Equal(2, bus.ReceivedOf((int)MessageType.Ping));
    }
}
