using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Shards;

namespace RedisClone.Admin.Info;

/// <summary>Sums over all clients, and over the keys that clients watch or wait for.</summary>
internal sealed class ClientReading
{
    public ClientReading(ServerCore server)
    {
        foreach (Session session in server.Sessions.Unordered)
        {
            if (session.Subscriptions > 0) Subscribing++;
            if (session.Watched.Count > 0) Watching++;
            LargestInput = Math.Max(LargestInput, session.Connection!.QueryBytes);
            LargestOutput = Math.Max(LargestOutput, session.Connection!.UnsentBytes);
        }
        for (int i = 0; i < server.Shards.Count; i++)
        {
            ShardKeys keys = server.Shards[i].Keys;
            WatchedKeys += keys.WatchedKeys;
            BlockedKeys += keys.BlockedKeys;
            BlockedKeysWithoutValue += keys.BlockedKeysWithoutValue;
        }
    }

    /// <summary>Clients with a subscription.</summary>
    public int Subscribing { get; }

    /// <summary>Clients that watch keys.</summary>
    public int Watching { get; }

    public long LargestInput { get; }

    public long LargestOutput { get; }

    public int WatchedKeys { get; }

    public int BlockedKeys { get; }

    public int BlockedKeysWithoutValue { get; }
}
