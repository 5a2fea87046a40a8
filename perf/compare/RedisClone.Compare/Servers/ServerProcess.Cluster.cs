using System.Diagnostics;
using RedisClone.Compare.Load;
using RedisClone.Compare.Workloads;

namespace RedisClone.Compare.Servers;

/// <summary>A server as a node of a cluster.</summary>
internal sealed partial class ServerProcess
{
    private bool IsUp => Ask("CLUSTER", "INFO").Contains("cluster_state:ok", StringComparison.Ordinal);

    private string Id => Ask("CLUSTER", "MYID");

    /// <summary>Makes this server a cluster of one node.</summary>
    public void OwnAllSlots()
    {
        Ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        Await("cluster", () => IsUp);
    }

    /// <summary>Starts a node without slots that joins the cluster of this one. This server disposes it.</summary>
    public ServerProcess AddNode(IReadOnlyList<int> cores, Workload workload)
    {
        ServerProcess node = Add(cores, workload);
        node.Ask("CLUSTER", "MEET", "127.0.0.1", Text(Setup.Port), Text(Setup.ClusterPort));
        ServerProcess[] nodes = [this, .. _others];
        string[] ids = [.. nodes.Select(n => n.Id)];
        // During a handshake a node has another ID.
        Await("meeting of the nodes", () => nodes.All(n => n.Ask("CLUSTER", "NODES") is var known && ids.All(known.Contains)));
        Await("cluster", () => nodes.All(static n => n.IsUp));
        return node;
    }

    /// <summary>Sets a parameter on this node and on those that were added to it.</summary>
    public void ConfigureAll(string parameter, string value)
    {
        foreach (ServerProcess node in (ServerProcess[])[this, .. _others])
            node.Ask("CONFIG", "SET", parameter, value);
    }

    /// <summary>Gives a slot without keys to a node that was added to this one.</summary>
    public void GiveEmptySlot(int slot, ServerProcess to)
    {
        string id = to.Id;
        foreach (ServerProcess node in (ServerProcess[])[to, this, .. _others.Where(other => other != to)])
        {
            if (node.Ask("CLUSTER", "SETSLOT", Text(slot), "NODE", id) is ['-', ..] error)
                throw new LoadException($"CLUSTER SETSLOT: {error}");
        }
    }

    /// <summary>Makes this node a replica of another one, and waits until it has the data.</summary>
    public void Replicate(ServerProcess primary)
    {
        string id = primary.Id;
        Await("primary", () => Ask("CLUSTER", "REPLICATE", id) == "+OK");
        AwaitSynchronisation();
    }

    /// <summary>
    /// Begins to move the slots from 0 on from another node to this one: by CLUSTER MIGRATION if the server has it, otherwise by redis-cli,
    /// which is returned. The caller disposes it.
    /// </summary>
    public Process? BeginToMoveSlots(ServerProcess from, int slots, IReadOnlyList<int> cores)
    {
        if (Kind.Name.StartsWith(ServerKind.Ours, StringComparison.Ordinal))
        {
            if (Ask("CLUSTER", "MIGRATION", "IMPORT", "0", Text(slots - 1)) is ['-', ..] error)
                throw new LoadException($"CLUSTER MIGRATION: {error}");
            return null;
        }

        Await("agreement of the nodes", () =>
        {
            using Process check = RedisCli(cores, $"check 127.0.0.1:{from.Setup.Port}");
            check.WaitForExit();
            return check.ExitCode == 0;
        });
        return RedisCli(cores, $"reshard 127.0.0.1:{from.Setup.Port} --cluster-from {from.Id} --cluster-to {Id} --cluster-slots {slots} --cluster-yes");
    }

    /// <summary>Starts redis-cli --cluster. The shell discards the progress, which has a line for each key.</summary>
    private static Process RedisCli(IReadOnlyList<int> cores, string command) => Process.Start("setpriv",
        ["--pdeathsig", "KILL", "sh", "-c", $"exec taskset -c {string.Join(',', cores)} redis-cli --cluster {command} > /dev/null 2>&1"]);
}
