using System.Buffers;
using RedisClone.Engine.Clients;
using RedisClone.Protocol;

namespace RedisClone.Engine.Pubsub;

/// <summary>The kinds of subscription.</summary>
internal enum SubscriptionKind
{
    Channel,
    Pattern,
    Shard,
}

/// <summary>
/// Delivers published messages. A message is encoded once for all subscribers with the same protocol version. Each client
/// receives messages in the order of their publication.
/// </summary>
internal sealed class Hub
{
    private readonly Channels[] _channels = [new(), new(), new()];

    /// <summary>A message with this name also contains the pattern, which may be empty.</summary>
    private static ReadOnlySpan<byte> ByPattern => "pmessage"u8;

    public Channels this[SubscriptionKind kind] => _channels[(int)kind];

    /// <summary>
    /// Whether any client has subscribed to a channel or a pattern. Without subscribers, keyspace events cost nothing.
    /// </summary>
    public bool HasListeners => !this[SubscriptionKind.Channel].IsEmpty || !this[SubscriptionKind.Pattern].IsEmpty;

    /// <summary>
    /// Delivers to the subscribers of a channel and of matching patterns. Returns the number of deliveries. The calling thread holds
    /// messages back, which gives them their order.
    /// </summary>
    public int Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message)
    {
        int receivers = Deliver(this[SubscriptionKind.Channel].SubscribersOf(channel), "message"u8, default, channel, message);
        if (this[SubscriptionKind.Pattern].IsEmpty) return receivers;
        foreach ((byte[] pattern, Session[] sessions) in this[SubscriptionKind.Pattern].All)
            if (Glob.Matches(pattern, channel)) receivers += Deliver(sessions, ByPattern, pattern, channel, message);
        return receivers;
    }

    public int PublishToShard(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message) =>
        Deliver(this[SubscriptionKind.Shard].SubscribersOf(channel), "smessage"u8, default, channel, message);

    /// <summary>
    /// Records a subscription in the client's session. Returns null if it existed before. Messages arrive only after <see
    /// cref="Open"/>, which follows the confirmation, so that no message precedes the confirmation.
    /// </summary>
    public static byte[]? Enlist(Session session, SubscriptionKind kind, ReadOnlySpan<byte> name)
    {
        byte[] owned = name.ToArray();
        if (!session.SubscriptionsOf(kind).Add(owned)) return null;
        session.HeldBytes += owned.Length + Limits.BytesPerName;
        return owned;
    }

    /// <summary>Begins to deliver messages.</summary>
    public void Open(Session session, SubscriptionKind kind, byte[] name) => this[kind].Add(name, session);

    public bool Unsubscribe(Session session, SubscriptionKind kind, ReadOnlySpan<byte> name)
    {
        byte[] owned = name.ToArray();
        if (!session.SubscriptionsOf(kind).Contains(owned)) return false;
        // The removal from the table needs memory, so it comes first: if it fails, the client is still subscribed.
        this[kind].Remove(owned, session);
        session.HasLeft = true;
        return Strike(session, kind, owned);
    }

    /// <summary>Removes a subscription from the client's session. It takes no memory.</summary>
    public static bool Strike(Session session, SubscriptionKind kind, byte[] name)
    {
        if (!session.SubscriptionsOf(kind).Remove(name)) return false;
        session.HeldBytes -= name.Length + Limits.BytesPerName;
        return true;
    }

    /// <summary>Ends all subscriptions of a client that disconnects or resets its state.</summary>
    public void UnsubscribeAll(Session session)
    {
        if (session.Subscriptions == 0) return;
        session.HasLeft = true;
        foreach (SubscriptionKind kind in Enum.GetValues<SubscriptionKind>())
        {
            foreach (byte[] name in session.SubscriptionsOf(kind))
            {
                this[kind].Remove(name, session);
                session.HeldBytes -= name.Length + Limits.BytesPerName;
            }
            session.SubscriptionsOf(kind).Clear();
        }
    }

    private static int Deliver(
        Session[] sessions, ReadOnlySpan<byte> word, ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message)
    {
        byte[]? resp2 = null, resp3 = null;
        foreach (Session session in sessions)
        {
            ref byte[]? encoded = ref session.Reply.Version >= 3 ? ref resp3 : ref resp2;
            encoded ??= Encode(session.Reply.Version, word, pattern, channel, message);
            session.Connection!.Push(encoded);
        }
        return sessions.Length;
    }

    private static byte[] Encode(
        int version, ReadOnlySpan<byte> word, ReadOnlySpan<byte> pattern, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message)
    {
        bool byPattern = word.SequenceEqual(ByPattern);
        var output = new ArrayBufferWriter<byte>(message.Length + channel.Length + pattern.Length + 64);
        var writer = new ReplyWriter(output) { Version = version };
        writer.PushHeader(byPattern ? 4 : 3);
        writer.Bulk(word);
        if (byPattern) writer.Bulk(pattern);
        writer.Bulk(channel);
        writer.Bulk(message);
        writer.Commit();
        return output.WrittenSpan.ToArray();
    }
}
