using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Replication;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Admin.Commands;

/// <summary>FAILOVER: a primary hands its role over to one of its replicas.</summary>
internal static class FailoverCommand
{
    /// <summary>An abort changes the role, so the command holds every shard.</summary>
    public static readonly CommandRow Row =
        new("FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
            -1, Keys.None, CommandFlags.Admin | NoScript | Stale | AllShards, "server", "6.2.0", Run,
            "Hands the role of the master over to a replica.");

    private static void Run(ref CommandContext c)
    {
        Failover failover = c.Server.Failover;
        if (c.Server.Cluster is not null)
        {
            c.Fail("ERR FAILOVER not allowed in cluster mode.");
            return;
        }
        if (c.Args.Count == 2 && c.Is(1, "abort"u8))
        {
            if (!failover.IsOn)
            {
                c.Fail("ERR No failover in progress.");
                return;
            }
            failover.Abort("Failover manually aborted");
            c.Reply.Ok();
            return;
        }
        if (!TryOptions(ref c, out ReplicaOf? target, out long timeout, out bool isForced)) return;
        if (Refusal(ref c, target, timeout, isForced) is { } refusal)
        {
            c.Fail(refusal);
            return;
        }
        // Earlier commands of the same transaction belong to the stream that the replica must have.
        c.Server.Executor.PlaceEffects(c.Session, c.Lane, c.Held);
        failover.Begin(target, timeout == 0 ? 0 : c.Now + timeout, isForced);
        c.Reply.Ok();
    }

    private static bool TryOptions(ref CommandContext c, out ReplicaOf? target, out long timeout, out bool isForced)
    {
        (target, timeout, isForced) = (null, 0, false);
        for (int i = 1; i < c.Args.Count && !c.Failed; i++)
        {
            int following = c.Args.Count - 1 - i;
            if (c.Is(i, "timeout"u8) && following >= 1 && timeout == 0)
            {
                timeout = c.Int64(++i);
                if (!c.Failed && timeout <= 0) c.Fail("ERR FAILOVER timeout must be greater than 0");
            }
            else if (c.Is(i, "to"u8) && following >= 2 && target is null)
            {
                target = new ReplicaOf(c.Text(i + 1), (int)c.Int64(i + 2));
                i += 2;
            }
            else if (c.Is(i, "force"u8) && !isForced)
            {
                isForced = true;
            }
            else
            {
                c.FailSyntax();
            }
        }
        return !c.Failed;
    }

    private static string? Refusal(ref CommandContext c, ReplicaOf? target, long timeout, bool isForced)
    {
        if (c.Server.Failover.IsOn) return "ERR FAILOVER already in progress.";
        if (c.Server.Role.IsReplica) return "ERR FAILOVER is not valid when server is a replica.";
        if (c.Server.Replicas.Count == 0) return "ERR FAILOVER requires connected replicas.";
        if (isForced && (timeout == 0 || target is null)) return "ERR FAILOVER with force option requires both a timeout and target HOST and IP.";
        if (c.Server.Role.Connector is null) return "ERR this server has no network, so it cannot be a replica";
        if (target is null) return null;
        if (c.Server.Failover.Find(target.Host, target.Port) is not { } replica) return "ERR FAILOVER target HOST and PORT is not a replica.";
        return replica.State == ReplicaState.Follows ? null : "ERR FAILOVER target replica is not online.";
    }
}
