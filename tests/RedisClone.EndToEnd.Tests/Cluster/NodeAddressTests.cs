using System.Net.Sockets;
using System.Security.Authentication;
using RedisClone.EndToEnd.Tests.Replication;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Tls;
using RedisClone.Tests;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>The addresses and names that nodes announce, and TLS between nodes.</summary>
public sealed class NodeAddressTests
{
    /// <summary>Other nodes and clients see what a node announces, also after a change at run time and after a restart.</summary>
    [Theory]
    [InlineData('o')]
    [InlineData('r')]
    public void NodesAnnounceThemselves(char other)
    {
        int port = Ports.Free(), busPort = Ports.Free();
        using ServerProcess node = ClusterOfNodes.Start(
            'o', "--bind", "127.0.0.1 127.0.0.7", "--cluster-port", $"{busPort}", "--cluster-announce-ip", "127.0.0.7", "--cluster-announce-port", $"{port}",
            "--cluster-announce-hostname", "one.example", "--cluster-announce-human-nodename", "one");
        using ServerProcess asked = ClusterOfNodes.Start(other);
        Join(node, asked);
        FollowingTests.Until(() => LineOf(asked, node).Contains($" 127.0.0.7:{port}@{busPort},one.example", StringComparison.Ordinal), "not announced", asked);
        Assert.Equal($"MOVED 12182 127.0.0.7:{port}", ClusterOfNodes.Call(asked, "GET", "foo").Text);
        ClusterOfNodes.Call(asked, "CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname");
        Assert.Equal($"MOVED 12182 one.example:{port}", ClusterOfNodes.Call(asked, "GET", "foo").Text);
        ClusterOfNodes.Call(node, "CONFIG", "SET", "cluster-announce-hostname", "two.example", "cluster-announce-port", $"{port + 1}");
        FollowingTests.Until(() => ClusterOfNodes.Call(asked, "GET", "foo").Text == $"MOVED 12182 two.example:{port + 1}", "no change", asked);
        node.AssertWell();
    }

    /// <summary>The bus and replication run through TLS, and take neither a plain connection nor another authority.</summary>
    [Theory]
    [InlineData('o')]
    [InlineData('r')]
    public void NodesSpeakThroughTls(char other)
    {
        using var authority = new TestAuthority();
        using var others = new TestAuthority();
        int busPort = Ports.Free();
        using ServerProcess one = StartEncrypted('o', authority, busPort), two = StartEncrypted(other, authority, Ports.Free());
        Join(one, two);
        Assert.StartsWith("MOVED 12182 127.0.0.1:", ClusterOfNodes.Call(two, "GET", "foo").Text, StringComparison.Ordinal);
        Assert.Equal("OK", ClusterOfNodes.Call(one, "SET", "foo", "bar").Text);
        // A replica copies through TLS.
        using ServerProcess replica = StartEncrypted(other, authority, Ports.Free());
        Meet(replica, one);
        string name = ClusterOfNodes.NameOf(one);
        FollowingTests.Until(() => ClusterOfNodes.Call(replica, "CLUSTER", "REPLICATE", name).Text == "OK", "the node is not known", replica);
        FollowingTests.Until(() => ClusterOfNodes.HasLink(replica), "no copy", replica);
        // Strangers change nothing.
        using ServerProcess stranger = StartEncrypted('o', others, Ports.Free());
        Meet(stranger, one);
        using (var plain = new TcpClient("127.0.0.1", busPort))
        {
            plain.GetStream().Write(ForgedMessage.Of(type: 2, new string('c', 40)));
            plain.ReceiveTimeout = 30_000;
            Assert.True(Ends(plain), "a plain connection gets an answer");
        }
        Assert.False(AnswersWithoutCertificate(busPort));
        FollowingTests.Until(() => ClusterOfNodes.KnownNodes(stranger) == 1, "the handshake does not end", stranger);
        Assert.Equal(3, ClusterOfNodes.KnownNodes(one));
        one.AssertWell();
    }

    /// <summary>Whether no message of the bus comes back: an alert of TLS may come before the end.</summary>
    private static bool Ends(TcpClient client)
    {
        byte[] answer = new byte[4096];
        try
        {
            for (int read; (read = client.GetStream().Read(answer)) > 0;)
                if (answer.AsSpan(0, read).StartsWith("RCmb"u8)) return false;
            return true;
        }
        catch (IOException failure)
        {
            return failure.InnerException is SocketException { SocketErrorCode: SocketError.ConnectionReset };
        }
    }

    /// <summary>Clients need no certificate at the ports of these nodes. The bus takes no peer without one.</summary>
    private static bool AnswersWithoutCertificate(int busPort)
    {
        try
        {
            using var client = new TlsClient(busPort);
            return client.IsAnswered(ForgedMessage.Of(type: 2, new string('d', 40)));
        }
        catch (Exception e) when (e is IOException or AuthenticationException)
        {
            return false;
        }
    }

    private static ServerProcess StartEncrypted(char kind, TestAuthority authority, int busPort)
    {
        (string certificate, string key) = authority.Issue($"node{busPort}");
        return ClusterOfNodes.Start(
            kind, "--cluster-port", $"{busPort}", "--tls-port", $"{Ports.Free()}", "--tls-cluster", "yes", "--tls-replication", "yes",
            "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority.File,
            "--tls-auth-clients", "no");
    }

    /// <summary>Makes a cluster of two primaries. The first one serves the upper half of the slots.</summary>
    private static void Join(ServerProcess node, ServerProcess asked)
    {
        Assert.Equal("OK", ClusterOfNodes.Call(asked, "CLUSTER", "ADDSLOTSRANGE", "0", "8191").Text);
        Assert.Equal("OK", ClusterOfNodes.Call(node, "CLUSTER", "ADDSLOTSRANGE", "8192", "16383").Text);
        Meet(node, asked);
        foreach (ServerProcess either in new[] { node, asked })
            FollowingTests.Until(() => ClusterOfNodes.IsUp(either), "the cluster does not work", either);
    }

    private static void Meet(ServerProcess node, ServerProcess other)
    {
        string[] address = LineOf(other, other).Split(' ')[1].Split(',')[0].Split('@');
        Assert.Equal("OK", ClusterOfNodes.Call(node, "CLUSTER", "MEET", "127.0.0.1", address[0].Split(':')[1], address[1]).Text);
    }

    private static string LineOf(ServerProcess asked, ServerProcess node)
    {
        string name = ClusterOfNodes.NameOf(node);
        return ClusterOfNodes.Call(asked, "CLUSTER", "NODES").Text!.Split('\n').FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal)) ?? "";
    }
}
