using System.Buffers;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Pubsub;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;
using static RedisClone.Engine.Commands.CommandFlags;

namespace RedisClone.Engine.Commands.Pubsub;

/// <summary>Commands that publish messages and subscribe to channels.</summary>
internal static class PubSubCommands
{
    private const CommandFlags Listening = PubSub | NoScript | Loading | Stale | InSubscribedMode;

    public static readonly CommandRow[] Rows =
    [
        new("SUBSCRIBE channel [channel ...]",
            -2, Keys.None, Listening | Grows, "pubsub", "2.0.0", Subscribe, "Subscribes to channels.")
            { Channels = ChannelUse.Each, Complexity = "O(N) where N is the number of channels to subscribe to." },
        new("UNSUBSCRIBE [channel [channel ...]]",
            -1, Keys.None, Listening, "pubsub", "2.0.0", Unsubscribe, "Unsubscribes from channels, or from all.")
            { Complexity = "O(N) where N is the number of channels to unsubscribe." },
        new("PSUBSCRIBE pattern [pattern ...]",
            -2, Keys.None, Listening | Grows, "pubsub", "2.0.0", SubscribePattern,
            "Subscribes to all channels that match a pattern.")
            { Channels = ChannelUse.EachPattern, Complexity = "O(N) where N is the number of patterns to subscribe to." },
        new("PUNSUBSCRIBE [pattern [pattern ...]]",
            -1, Keys.None, Listening, "pubsub", "2.0.0", UnsubscribePattern, "Unsubscribes from patterns, or from all.")
            { Complexity = "O(N) where N is the number of patterns to unsubscribe." },
        new("SSUBSCRIBE shardchannel [shardchannel ...]",
            -2, Keys.Range(1, -1, flags: KeyFlags.NotKey), Listening | Grows, "pubsub", "7.0.0", SubscribeShard,
            "Subscribes to shard channels.")
            { Channels = ChannelUse.Each, Complexity = "O(N) where N is the number of shard channels to subscribe to." },
        new("SUNSUBSCRIBE [shardchannel [shardchannel ...]]",
            -1, Keys.Range(1, -1, flags: KeyFlags.NotKey), Listening, "pubsub", "7.0.0", UnsubscribeShard, "Unsubscribes from shard channels, or from all.")
            { Complexity = "O(N) where N is the number of shard channels to unsubscribe." },
        new("PUBLISH channel message",
            3, Keys.None, PubSub | Loading | Stale | Fast | MayReplicate, "pubsub", "2.0.0", Publish,
            "Sends a message to a channel and returns how many clients received it.")
            { Channels = ChannelUse.First, Complexity = "O(N+M) where N is the number of clients subscribed to the receiving " +
                "channel and M is the total number of subscribed patterns (by any client)." },
        new("SPUBLISH shardchannel message",
            3, Keys.At(1, KeyFlags.NotKey), PubSub | Loading | Stale | Fast | MayReplicate, "pubsub", "7.0.0", PublishToShard,
            "Sends a message to a shard channel.")
            { Channels = ChannelUse.First, Complexity = "O(N) where N is the number of clients subscribed to the receiving " +
                "shard channel." },
        new("MONITOR",
            1, Keys.None, CommandFlags.Admin | NoScript | Loading | Stale, "server", "1.0.0", Monitor,
            "Streams every command that the server runs."),
        new("PUBSUB", -2, Keys.None, None, "pubsub", "2.8.0", null, "Commands about channels and their subscribers.")
        {
            Complexity = "Depends on subcommand.",
            Subcommands =
            [
                new("CHANNELS [pattern]",
                    -2, Keys.None, PubSub | Loading | Stale, "pubsub", "2.8.0", ListChannels,
                    "Lists the channels with subscribers.") { Complexity = "O(N) where N is the number of active channels." },
                new("NUMSUB [channel [channel ...]]",
                    -2, Keys.None, PubSub | Loading | Stale, "pubsub", "2.8.0", CountSubscribers,
                    "Counts the subscribers of channels.")
                    { Complexity = "O(N) for the NUMSUB subcommand, where N is the number of requested channels" },
                new("NUMPAT",
                    2, Keys.None, PubSub | Loading | Stale, "pubsub", "2.8.0", CountPatterns,
                    "Counts the patterns with subscribers."),
                new("SHARDCHANNELS [pattern]",
                    -2, Keys.None, PubSub | Loading | Stale, "pubsub", "7.0.0", ListShardChannels,
                    "Lists the shard channels with subscribers.")
                    { Complexity = "O(N) where N is the number of active shard channels." },
                new("SHARDNUMSUB [shardchannel [shardchannel ...]]",
                    -2, Keys.None, PubSub | Loading | Stale, "pubsub", "7.0.0", CountShardSubscribers,
                    "Counts the subscribers of shard channels.")
                    { Complexity = "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels" },
                Help.Row("pubsub", "6.2.0"),
            ],
        },
    ];

    /// <summary>Ends the subscriptions of a client to channels whose slots this node does not have any more.</summary>
    public static void EndForeign(Session session)
    {
        foreach (byte[] name in session.SubscriptionsOf(SubscriptionKind.Shard).ToArray())
        {
            if (session.Server.Cluster is not { } cluster || cluster.Has(KeySlot.Of(name))) continue;
            session.Server.Hub.Unsubscribe(session, SubscriptionKind.Shard, name);
            Write(session.Reply, "sunsubscribe"u8, name, nothing: false, session.SubscriptionsOf(SubscriptionKind.Shard).Count);
        }
    }

    private static void Subscribe(ref CommandContext c) => Subscribe(ref c, SubscriptionKind.Channel, "subscribe"u8);

    private static void SubscribePattern(ref CommandContext c) => Subscribe(ref c, SubscriptionKind.Pattern, "psubscribe"u8);

    private static void SubscribeShard(ref CommandContext c)
    {
        // As in Redis, only the subscriptions to channels and patterns are allowed in a transaction.
        if (c.Session.InTransaction) c.Fail("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");
        else Subscribe(ref c, SubscriptionKind.Shard, "ssubscribe"u8);
    }

    private static void Unsubscribe(ref CommandContext c) => Unsubscribe(ref c, SubscriptionKind.Channel, "unsubscribe"u8);

    private static void UnsubscribePattern(ref CommandContext c) => Unsubscribe(ref c, SubscriptionKind.Pattern, "punsubscribe"u8);

    private static void UnsubscribeShard(ref CommandContext c) => Unsubscribe(ref c, SubscriptionKind.Shard, "sunsubscribe"u8);

    private static void Subscribe(ref CommandContext c, SubscriptionKind kind, ReadOnlySpan<byte> word)
    {
        for (int i = 1; i < c.Args.Count; i++)
        {
            byte[]? added = Hub.Enlist(c.Session, kind, c.Args[i]);
            try
            {
                Confirm(ref c, word, c.Args[i], kind);
                if (added is not null) c.Clients.Hub.Open(c.Session, kind, added);
            }
            catch when (added is not null)
            {
                // Without memory the client gets an error, and would get no message.
                Hub.Strike(c.Session, kind, added);
                throw;
            }
        }
        // The slot may have moved since the check. The thread that moves it looks for subscribers afterwards.
        if (kind == SubscriptionKind.Shard && c.Clients.Cluster is { } cluster && !cluster.Has(KeySlot.Of(c.Args[1])))
            c.Session.Connection!.EndForeignSubscriptions();
        // The permissions of the user may have been reduced since the check. The thread that changes them looks for
        // subscribers afterwards. With a full fence on both sides, at least one of the two threads sees the change of the
        // other.
        Interlocked.MemoryBarrier();
        if (!c.Session.User.IsUnrestricted && !c.Session.User.Check(c.Row, c.Args).IsAllowed) c.Session.CloseAfterReply = true;
    }

    private static void Unsubscribe(ref CommandContext c, SubscriptionKind kind, ReadOnlySpan<byte> word)
    {
        // What has arrived goes before the confirmation.
        if (!c.Session.InTransaction) c.Session.Connection?.WriteMessages();
        if (c.Args.Count == 1)
        {
            byte[][] all = [.. c.Session.SubscriptionsOf(kind)];
            foreach (byte[] name in all)
            {
                c.Clients.Hub.Unsubscribe(c.Session, kind, name);
                Confirm(ref c, word, name, kind);
            }
            if (all.Length == 0) Confirm(ref c, word, default, kind, nothing: true);
            return;
        }
        for (int i = 1; i < c.Args.Count; i++)
        {
            c.Clients.Hub.Unsubscribe(c.Session, kind, c.Args[i]);
            Confirm(ref c, word, c.Args[i], kind);
        }
    }

    private static void Confirm(
        ref CommandContext c, scoped ReadOnlySpan<byte> word, scoped ReadOnlySpan<byte> name, SubscriptionKind kind, bool nothing = false)
    {
        Session session = c.Session;
        long left = kind == SubscriptionKind.Shard
            ? session.SubscriptionsOf(SubscriptionKind.Shard).Count
            : session.SubscriptionsOf(SubscriptionKind.Channel).Count + session.SubscriptionsOf(SubscriptionKind.Pattern).Count;
        if (!session.IsMuted)
        {
            Write(c.Reply, word, name, nothing, left);
            return;
        }
        // A client that turned replies off still receives push messages, and a confirmation counts as one.
        var output = new ArrayBufferWriter<byte>();
        var writer = new ReplyWriter(output) { Version = c.Reply.Version };
        Write(writer, word, name, nothing, left);
        writer.Commit();
        session.Connection!.Push(output.WrittenSpan.ToArray());
    }

    private static void Write(ReplyWriter reply, ReadOnlySpan<byte> word, ReadOnlySpan<byte> name, bool nothing, long left)
    {
        reply.PushHeader(3);
        reply.Bulk(word);
        if (nothing) reply.Null();
        else reply.Bulk(name);
        reply.Integer(left);
    }

    private static void Publish(ref CommandContext c)
    {
        c.Reply.Integer(c.Clients.Hub.Publish(c.Args[1], c.Args[2]));
        PassOn(ref c, toShard: false);
    }

    private static void PublishToShard(ref CommandContext c)
    {
        c.Reply.Integer(c.Clients.Hub.PublishToShard(c.Args[1], c.Args[2]));
        PassOn(ref c, toShard: true);
    }

    /// <summary>Passes a message on to the nodes of the cluster, or else to the replicas.</summary>
    private static void PassOn(ref CommandContext c, bool toShard)
    {
        if (c.Clients.Cluster is { } cluster) cluster.Bus.Publish(c.Args[1], c.Args[2], toShard, c.Lane);
        else c.Clients.Replicas.Relay(c.Args, c.Lane);
    }

    private static void Monitor(ref CommandContext c)
    {
        // The lines of the monitor would come between the replies of the transaction.
        if (c.Session.InTransaction)
        {
            c.Fail("ERR MONITOR isn't allowed for DENY BLOCKING client");
            return;
        }
        c.Clients.Monitors.Add(c.Session);
        c.Reply.Ok();
    }

    private static void ListChannels(ref CommandContext c) => List(ref c, SubscriptionKind.Channel);

    private static void ListShardChannels(ref CommandContext c) => List(ref c, SubscriptionKind.Shard);

    private static void List(ref CommandContext c, SubscriptionKind kind)
    {
        if (!c.HasAtMost(3)) return;
        DeferredReply reply = c.Reply.BeginDeferred();
        long count = 0;
        foreach ((byte[] name, _) in c.Clients.Hub[kind].All)
        {
            if (c.Args.Count == 3 && !Glob.Matches(c.Args[2], name)) continue;
            c.Reply.Bulk(name);
            count++;
        }
        c.Reply.EndArray(reply, count);
    }

    private static void CountSubscribers(ref CommandContext c) => Count(ref c, SubscriptionKind.Channel);

    private static void CountShardSubscribers(ref CommandContext c) => Count(ref c, SubscriptionKind.Shard);

    private static void Count(ref CommandContext c, SubscriptionKind kind)
    {
        c.Reply.ArrayHeader(2L * (c.Args.Count - 2));
        for (int i = 2; i < c.Args.Count; i++)
        {
            c.Reply.Bulk(c.Args[i]);
            c.Reply.Integer(c.Clients.Hub[kind].SubscribersOf(c.Args[i]).Length);
        }
    }

    private static void CountPatterns(ref CommandContext c) => c.Reply.Integer(c.Clients.Hub[SubscriptionKind.Pattern].Count);
}
