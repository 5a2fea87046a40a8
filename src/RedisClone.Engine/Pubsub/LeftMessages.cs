using RedisClone.Engine.Clients;
using RedisClone.Protocol;

namespace RedisClone.Engine.Pubsub;

/// <summary>
/// Messages for a client that has unsubscribed, reset its state or changed its protocol. A message that was published before may be on
/// its way: the publisher has found the subscriber, or its unit has not ended. After the confirmation, the client would take it for a reply.
/// </summary>
internal static class LeftMessages
{
    /// <summary>Whether the client still expects a message. The calling thread owns the session.</summary>
    public static bool IsExpected(Session session, ReadOnlySpan<byte> message)
    {
        if (message[0] == '+') return session.Server.Monitors.Contains(session);
        ReadOnlySpan<byte> rest = message[(message.IndexOf((byte)'\n') + 1)..];
        ReadOnlySpan<byte> word = NextBulk(ref rest);
        SubscriptionKind kind;
        if (word.SequenceEqual("message"u8)) kind = SubscriptionKind.Channel;
        else if (word.SequenceEqual("pmessage"u8)) kind = SubscriptionKind.Pattern;
        else if (word.SequenceEqual("smessage"u8)) kind = SubscriptionKind.Shard;
        else return message[0] != '>' || session.Reply.Version >= 3;
        return session.CountOf(kind) > 0 && session.SubscriptionsOf(kind).GetAlternateLookup<ReadOnlySpan<byte>>().Contains(NextBulk(ref rest));
    }

    /// <summary>Writes a message in the client's protocol. It was encoded for the one at the time of its publication.</summary>
    public static void Write(ReplyWriter reply, ReadOnlySpan<byte> message)
    {
        byte type = message[0] is (byte)'>' or (byte)'*' ? (byte)(reply.Version >= 3 ? '>' : '*') : message[0];
        reply.Raw([type]);
        reply.Raw(message[1..]);
    }

    private static ReadOnlySpan<byte> NextBulk(ref ReadOnlySpan<byte> rest)
    {
        int end = rest.IndexOf((byte)'\r');
        int length = RedisNumber.TryParseInt64(rest[1..end], out long bytes) ? (int)bytes : 0;
        ReadOnlySpan<byte> text = rest.Slice(end + 2, length);
        rest = rest[(end + 2 + text.Length + 2)..];
        return text;
    }
}
