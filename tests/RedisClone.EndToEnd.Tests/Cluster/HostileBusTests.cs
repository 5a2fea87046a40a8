using System.Net;
using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>Bad input on the port of the bus, and bad files of the cluster.</summary>
public sealed class HostileBusTests
{
    /// <summary>Garbage, wrong lengths and silent connections are closed and counted, and the state does not change.</summary>
    [Fact]
    public void BadInputChangesNothing()
    {
        int busPort = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--cluster-enabled", "yes", "--cluster-port", $"{busPort}", "--cluster-node-timeout", "1000");
        string before = ClusterOfNodes.Call(server, "CLUSTER", "NODES").Text!;
        var random = new Random(3);
        long memory = server.ResidentBytes;
        foreach (byte[] input in Inputs(random))
        {
            using Socket socket = Connect(busPort);
            Send(socket, input);
            Assert.True(IsClosed(socket), $"the connection stays after {input.Length} bytes that begin with {Convert.ToHexString(input.AsSpan(0, 12))}");
        }
        Socket[] silent = [.. Enumerable.Range(0, 1000).Select(_ => Connect(busPort))];
        foreach (Socket socket in silent) Assert.True(IsClosed(socket), "a silent connection stays");
        foreach (Socket socket in silent) socket.Dispose();
        Assert.Equal(before, ClusterOfNodes.Call(server, "CLUSTER", "NODES").Text);
        Assert.Matches("cluster_links_refused:[1-9][0-9]*", ClusterOfNodes.Info(server));
        Assert.True(server.ResidentBytes - memory < 200 << 20, "the memory grows");
        server.AssertWell();
    }

    /// <summary>Pings, pongs and meetings with the node's own name, the highest epoch, another role and all slots.</summary>
    [Fact]
    public void MessagesInTheNodesOwnNameChangeNothing()
    {
        int busPort = Ports.Free();
        using ServerProcess server = ServerProcess.Ours("--cluster-enabled", "yes", "--cluster-port", $"{busPort}", "--cluster-announce-ip", "127.0.0.1");
        string before = ClusterOfNodes.Call(server, "CLUSTER", "NODES").Text!, name = ClusterOfNodes.NameOf(server);
        for (byte type = 0; type < 3; type++)
        {
            byte[] forged = ForgedMessage.Of(type, name);
            forged.AsSpan(16, 16).Fill(0xFF);                              // the epochs
            forged.AsSpan(80, 2048).Fill(0xFF);                            // the slots
            System.Text.Encoding.ASCII.GetBytes(new string('a', 40)).CopyTo(forged, 2128);
            forged[2251] = 2;                                              // a replica
            using Socket socket = Connect(busPort);
            Send(socket, forged);
            // The node answers all but a pong.
            if (type != 1) Assert.NotEqual(0, socket.Receive(new byte[1]));
        }
        Assert.Equal(before, ClusterOfNodes.Call(server, "CLUSTER", "NODES").Text);
        Assert.Contains("cluster_current_epoch:0", ClusterOfNodes.Info(server), StringComparison.Ordinal);
        server.AssertWell();
    }

    [Fact]
    public void TwoNodesOnOneDirectoryAreRefused()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-cluster-").FullName;
        using (ServerProcess first = ClusterOfNodes.Start('o', "--dir", folder))
        {
            (int exitCode, string output) = RunIn(folder);
            Assert.NotEqual(0, exitCode);
            Assert.Contains("is already used by a different Redis Cluster node", output, StringComparison.Ordinal);
            first.AssertWell();
        }
        Directory.Delete(folder, recursive: true);
    }

    [Fact]
    public void ADamagedFileIsRefusedWithItsLine()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-cluster-").FullName;
        string name;
        using (ServerProcess first = ClusterOfNodes.Start('o', "--dir", folder)) name = ClusterOfNodes.NameOf(first);
        string file = Path.Combine(folder, "nodes.conf"), whole = File.ReadAllText(file);
        using (ServerProcess again = ClusterOfNodes.Start('o', "--dir", folder)) Assert.Equal(name, ClusterOfNodes.NameOf(again));
        File.WriteAllText(file, whole[..(whole.Length / 2)]);
        (int exitCode, string output) = RunIn(folder);
        Assert.NotEqual(0, exitCode);
        Assert.Matches("corrupted cluster config file .*nodes.conf, line [0-9]+: ", output);
        Directory.Delete(folder, recursive: true);
    }

    /// <summary>
    /// A node whose nodes.conf is older than its data keeps the keys of slots that the file gives to another node. It removes only keys of
    /// slots that the file calls removable.
    /// </summary>
    [Fact]
    public void AnOldFileRemovesNoKeys()
    {
        const string other = "cca2cbf0c6eb107ec129233052ea289ca24334cd", kept = "{06S}k", removed = "foo";
        string folder = Directory.CreateTempSubdirectory("redisclone-cluster-").FullName, file = Path.Combine(folder, "nodes.conf");
        string[] arguments = ["--dir", folder, "--appendonly", "yes"];
        using (ServerProcess first = ClusterOfNodes.Start('o', arguments))
        using (RespClient client = first.Connect())
        {
            client.Expect("+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "16383");
            Replication.FollowingTests.Until(() => ClusterOfNodes.IsUp(first), "the node does not serve its slots", first);
            client.Expect("+OK", "SET", kept, "v");
            client.Expect("+OK", "SET", removed, "v");
        }
        string good = File.ReadAllText(file);
        string old = $"{good.Replace(" 0-16383\n", "\n").Replace("vars", $"{other} 127.0.0.1:1@2 master - 0 0 1 connected 0-16383\nvars")}";
        File.WriteAllText(file, old.Replace(" lastVoteEpoch 0", " lastVoteEpoch 0 removable-slots 12182-12182"));
        using (ServerProcess again = ClusterOfNodes.Start('o', arguments))
        using (RespClient client = again.Connect())
        {
            Replication.FollowingTests.Until(() => !File.ReadAllText(file).Contains("removable-slots", StringComparison.Ordinal), "the slot stays", again);
            Assert.Contains($"[0-<-{other}]", client.Call("CLUSTER", "NODES").Text!, StringComparison.Ordinal);
            client.Expect(":1", "DBSIZE");
        }
        File.WriteAllText(file, good);
        using (ServerProcess last = ClusterOfNodes.Start('o', arguments))
        using (RespClient client = last.Connect())
        {
            Replication.FollowingTests.Until(() => ClusterOfNodes.IsUp(last), "the node does not serve its slots", last);
            client.Expect("$\"v\"", "GET", kept);
            client.Expect("$nil", "GET", removed);
        }
        Directory.Delete(folder, recursive: true);
    }

    private static (int ExitCode, string Output) RunIn(string folder) => ServerProcess.RunOurs(
        "--port", $"{Ports.Free()}", "--cluster-enabled", "yes", "--cluster-port", $"{Ports.Free()}", "--dir", folder);

    private static IEnumerable<byte[]> Inputs(Random random)
    {
        byte[] header = new byte[2256];
        "RCmb"u8.CopyTo(header);
        yield return "GET / HTTP/1.1\r\n\r\n"u8.ToArray();
        foreach (byte[] length in new byte[][] { [0, 0, 0, 0], [0, 0, 8, 207], [255, 255, 255, 255], [127, 255, 255, 255], [0, 16, 0, 0] })
        {
            byte[] forged = [.. header];
            length.CopyTo(forged, 4);
            yield return forged;
        }
        // A whole header of another version, and pings whose counts do not fit.
        foreach ((byte version, byte type, byte count) in new (byte, byte, byte)[] { (2, 0, 0), (1, 0, 9), (1, 3, 0), (1, 4, 0), (1, 7, 0), (1, 99, 0) })
        {
            byte[] forged = [.. header];
            new byte[] { 0, 0, 8, 208, 0, version, 0, 0, 0, type, 0, count }.CopyTo(forged, 4);
            yield return forged;
        }
        for (int i = 0; i < 50; i++)
        {
            byte[] noise = new byte[random.Next(12, 5000)];
            random.NextBytes(noise);
            yield return noise;
        }
    }

    private static Socket Connect(int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveTimeout = 30_000 };
        socket.Connect(new IPEndPoint(IPAddress.Loopback, port));
        return socket;
    }

    private static void Send(Socket socket, byte[] bytes)
    {
        try
        {
            socket.Send(bytes);
        }
        catch (SocketException)
        {
            // The server has closed the connection already.
        }
    }

    private static bool IsClosed(Socket socket)
    {
        try
        {
            return socket.Receive(new byte[1]) == 0;
        }
        catch (SocketException failure)
        {
            return failure.SocketErrorCode == SocketError.ConnectionReset;
        }
    }
}
