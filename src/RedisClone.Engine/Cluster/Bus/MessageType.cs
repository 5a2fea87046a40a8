namespace RedisClone.Engine.Cluster.Bus;

/// <summary>The types of messages of the bus, with their numbers.</summary>
internal enum MessageType : ushort
{
    Ping = 0,
    Pong = 1,
    Meet = 2,
    Fail = 3,
    Publish = 4,
    AuthRequest = 5,
    AuthAck = 6,
    Update = 7,
    ManualFailoverStart = 8,
    Module = 9,
    PublishShard = 10,
}

/// <summary>The names of the types, as CLUSTER INFO shows them.</summary>
internal static class MessageTypes
{
    public const int Count = 11;

    private static readonly string[] Names =
        ["ping", "pong", "meet", "fail", "publish", "auth-req", "auth-ack", "update", "mfstart", "module", "publishshard"];

    public static string NameOf(int type) => Names[type];
}
