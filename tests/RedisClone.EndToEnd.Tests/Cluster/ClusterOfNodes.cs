using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>Nodes of one cluster, each of this server or of redis-server, joined by redis-cli.</summary>
internal sealed class ClusterOfNodes : IDisposable
{
    public const int NodeTimeout = 3000;

    private readonly List<ServerProcess> _nodes = [];
    private readonly List<(char Kind, string[] Arguments)> _starts = [];
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-cluster-").FullName;

    /// <param name="kinds">A letter for each node: o for this server, r for redis-server.</param>
    /// <param name="replicas">The replicas of each primary.</param>
    /// <param name="more">Further arguments of each node.</param>
    public ClusterOfNodes(string kinds, int replicas, params string[] more)
        : this(kinds, replicas, faults: null, more)
    {
    }

    /// <inheritdoc cref="ClusterOfNodes(string, int, string[])"/>
    /// <param name="faults">The network between the nodes, or null for the usual one.</param>
    public ClusterOfNodes(string kinds, int replicas, BusFaults? faults, params string[] more)
    {
        foreach (char kind in kinds)
        {
            string folder = Directory.CreateDirectory(Path.Combine(_folder, $"{_nodes.Count}")).FullName;
            int busPort = Ports.Free();
            string[] announced = faults is null ? [] : ["--cluster-announce-bus-port", $"{faults.Proxy(busPort)}"];
            _starts.Add((kind, ["--port", $"{Ports.Free()}", "--cluster-port", $"{busPort}", "--dir", folder, .. announced, .. more]));
            _nodes.Add(Start(kind, _starts[^1].Arguments));
        }
        string[] addresses = [.. _nodes.Select(node => $"127.0.0.1:{node.Port}")];
        string output = Cli(["--cluster", "create", .. addresses, "--cluster-replicas", $"{replicas}", "--cluster-yes"]);
        Assert.True(output.Contains("All 16384 slots covered", StringComparison.Ordinal), output);
        foreach (ServerProcess node in _nodes)
            Replication.FollowingTests.Until(() => IsUp(node), "the cluster does not work", node);
        foreach (ServerProcess replica in _nodes.Where(node => IsReplica(node)))
            Replication.FollowingTests.Until(() => HasLink(replica), "no link to the master", replica);
        // A primary answers the failover of a replica only when it knows it as its replica.
        int wanted = _nodes.Count - _nodes.Count / (replicas + 1);
        foreach (ServerProcess node in _nodes)
            Replication.FollowingTests.Until(() => Call(node, "CLUSTER", "NODES").Text!.Split("slave ").Length - 1 == wanted, "a replica is not known", node);
    }

    public IReadOnlyList<ServerProcess> Nodes => _nodes;

    public ServerProcess[] Primaries => [.. _nodes.Where(node => !node.HasExited && !IsReplica(node))];

    /// <summary>Starts a node again that was killed, on its ports and in its directory.</summary>
    public void Restart(ServerProcess node)
    {
        int index = _nodes.IndexOf(node);
        node.Dispose();
        _nodes[index] = Start(_starts[index].Kind, _starts[index].Arguments);
    }

    public static ServerProcess Start(char kind, params string[] more)
    {
        string[] port = more.Contains("--cluster-port") ? [] : ["--cluster-port", $"{Ports.Free()}"];
        string[] arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", $"{NodeTimeout}", .. port, .. more];
        return kind == 'o' ? ServerProcess.Ours(arguments) : ServerProcess.Redis(arguments);
    }

    public static bool IsReplica(ServerProcess node) => Call(node, "ROLE")[0].Text == "slave";

    public static bool HasLink(ServerProcess replica) =>
        Call(replica, "INFO", "replication").Text!.Contains("master_link_status:up", StringComparison.Ordinal);

    public static string Info(ServerProcess node) => Call(node, "CLUSTER", "INFO").Text!;

    /// <summary>Whether a node serves its slots.</summary>
    public static bool IsUp(ServerProcess node) => Info(node).Contains("cluster_state:ok", StringComparison.Ordinal);

    public static int KnownNodes(ServerProcess node) => int.Parse(Info(node).Split("cluster_known_nodes:")[1].Split('\r')[0]);

    /// <summary>The number of slots that a node serves, as it tells itself.</summary>
    public static long SlotsOf(ServerProcess node)
    {
        string name = NameOf(node);
        return Call(node, "CLUSTER", "SLOTS").Items!.Where(range => range[2][2].Text == name)
            .Sum(static range => range[1].Integer - range[0].Integer + 1);
    }

    public static string NameOf(ServerProcess node) => Call(node, "CLUSTER", "MYID").Text!;

    public static Reply Call(ServerProcess node, params string[] request)
    {
        using RespClient client = node.Connect();
        return client.Call(request);
    }

    /// <summary>Sends a command to the node that serves it: follows MOVED and ASK, and waits while the cluster is down.</summary>
    public Reply Follow(params string[] request) => Follow(request, then: static _ => { });

    /// <summary>Sends a write, and waits on the same connection until a replica has it: WAIT waits for the writes of its own connection only.</summary>
    public Reply FollowAndConfirm(params string[] request) =>
        Follow(request, static client => Assert.True(client.Call("WAIT", "1", "60000").Integer >= 1, "no replica has the write"));

    private Reply Follow(string[] request, Action<RespClient> then)
    {
        int port = _nodes.First(static node => !node.HasExited).Port;
        bool asks = false;
        for (int tries = 0; ; tries++)
        {
            Assert.True(tries < 300, $"no node serves {string.Join(' ', request)}");
            try
            {
                using var client = new RespClient(port);
                if (asks) client.Expect("+OK", "ASKING");
                Reply reply = client.Call(request);
                string error = reply.IsError ? reply.Text! : "";
                asks = error.StartsWith("ASK ", StringComparison.Ordinal);
                if (asks || error.StartsWith("MOVED ", StringComparison.Ordinal)) port = int.Parse(error[(error.LastIndexOf(':') + 1)..]);
                else if (error.Length > 0) Thread.Sleep(100);
                if (error.Length > 0) continue;
                then(client);
                return reply;
            }
            catch (Exception failure) when (failure is IOException or System.Net.Sockets.SocketException)
            {
                Thread.Sleep(100);
                port = _nodes.Where(static node => !node.HasExited).Skip(tries % 2).First().Port;
            }
        }
    }

    /// <summary>The node that serves a slot, as one of the nodes tells.</summary>
    public ServerProcess OwnerOf(int slot, int at = 0)
    {
        Reply range = Call(_nodes[at], "CLUSTER", "SLOTS").Items!.First(range => range[0].Integer <= slot && slot <= range[1].Integer);
        return _nodes.First(node => node.Port == range[2][1].Integer);
    }

    /// <summary>A field of the status of a slot migration; empty if the node does not know the migration.</summary>
    public static string MigrationField(ServerProcess node, string id, string name)
    {
        Reply[] tasks = Call(node, "CLUSTER", "MIGRATION", "STATUS", "ID", id).Items!;
        if (tasks.Length == 0) return "";
        Reply[] fields = tasks[0].Items!;
        return fields[Array.FindIndex(fields, field => field.Text == name) + 1].Text!;
    }

    /// <summary>Runs redis-cli, answers its questions with yes, and returns its output.</summary>
    public static string Cli(params string[] arguments)
    {
        var start = new ProcessStartInfo("redis-cli", arguments) { RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true };
        using Process cli = InstalledProgram.Start(start, "redis-cli");
        try
        {
            cli.StandardInput.Write("yes\nyes\nyes\n");
            cli.StandardInput.Close();
        }
        catch (IOException)
        {
            // A command that asks nothing may have ended already. Its output is complete.
        }
        Task<string> error = cli.StandardError.ReadToEndAsync();
        string output = cli.StandardOutput.ReadToEnd() + error.Result;
        cli.WaitForExit();
        return output;
    }

    public void Dispose()
    {
        foreach (ServerProcess node in _nodes) node.Dispose();
        Directory.Delete(_folder, recursive: true);
    }
}
