using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Pubsub;
using RedisClone.Memory;

namespace RedisClone.Engine.Effects;

/// <summary>Publishes key events on the channels __keyspace@…__ and __keyevent@…__.</summary>
internal sealed class Notifications(Hub hub)
{
    /// <summary>The enabled classes of events. The default is None, and an event then costs one test.</summary>
    public NotifyFlags Enabled { get; set; }

    public void Publish(NotifyFlags kind, string keyEvent, ReadOnlySpan<byte> key, int database)
    {
        if ((Enabled & kind) == 0 || !hub.HasListeners) return;
        Span<byte> name = stackalloc byte[64];
        int length = Encoding.ASCII.GetBytes(keyEvent, name);
        ReadOnlySpan<byte> eventName = name[..length];
        if ((Enabled & NotifyFlags.Keyspace) != 0) PublishTo("keyspace", database, key, eventName);
        if ((Enabled & NotifyFlags.Keyevent) != 0) PublishTo("keyevent", database, eventName, key);
    }

    private void PublishTo(string kind, int database, ReadOnlySpan<byte> subject, ReadOnlySpan<byte> message)
    {
        const int room = 40;
        byte[] channel = RentedArrays.Rent<byte>(room + subject.Length);
        System.Text.Unicode.Utf8.TryWrite(channel, CultureInfo.InvariantCulture, $"__{kind}@{database}__:", out int length);
        subject.CopyTo(channel.AsSpan(length));
        hub.Publish(channel.AsSpan(0, length + subject.Length), message);
        RentedArrays.Return(channel);
    }
}
