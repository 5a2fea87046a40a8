using RedisClone.Server.Admin;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>
/// What commands of consumer groups have in common: making a consumer by asking for it, and the effects. Whatever was delivered, claimed or given
/// up is written down as what became of it, in the commands that Redis itself uses for that.
/// </summary>
internal static class StreamConsumers
{
    /// <summary>Identifiers of one effect: more of them become several.</summary>
    private const int EffectIds = 1000;

    /// <summary>Bytes of the effects of making so many entries pending, or taking them away, each by itself.</summary>
    public static long SizeOfEach(scoped in CommandContext c, int key, int groupName, int consumer, long entries) =>
        entries * SizeOfClaim(c, key, groupName, consumer, 1);

    /// <summary>The same for entries that are told of together, and how far the group has read then.</summary>
    public static long SizeOfDelivery(scoped in CommandContext c, int key, int groupName, int consumer, long entries) =>
        (entries / EffectIds + 1) * SizeOfClaim(c, key, groupName, consumer, 0) + entries * SizeOfId
        + EffectBuffer.SizeOf(7, c.Args[key].Length + c.Args[groupName].Length + 128L);

    /// <summary>Bytes of the effect of making a consumer.</summary>
    public static long SizeOfConsumer(scoped in CommandContext c, int key, int groupName, int consumer) =>
        EffectBuffer.SizeOf(5, c.Args[key].Length + c.Args[groupName].Length + (long)c.Args[consumer].Length + 32);

    private static long SizeOfId => EffectBuffer.SizeOf(1, StreamIds.MaxLength);

    private static long SizeOfClaim(scoped in CommandContext c, int key, int groupName, int consumer, long ids) =>
        EffectBuffer.SizeOf(13, c.Args[key].Length + c.Args[groupName].Length + (long)c.Args[consumer].Length + 256)
        + ids * SizeOfId;

    /// <summary>The consumer that an argument names, made if it is not there.</summary>
    public static StreamConsumer Obtain(ref CommandContext c, StreamGroup group, int key, int groupName, int name)
    {
        if (group.TryGetConsumer(c.Args[name], out StreamConsumer consumer)) return consumer;
        if (c.ReplaceEffect(arguments: 5) is { } effect)
        {
            effect.Add("XGROUP"u8);
            effect.Add("CREATECONSUMER"u8);
            effect.Add(c.Args[key]);
            effect.Add(c.Args[groupName]);
            effect.Add(c.Args[name]);
        }
        c.Changed();
        c.Notify(key, NotifyFlags.Stream, "xgroup-createconsumer");
        return group.AddConsumer(c.Args[name], c.Now);
    }

    /// <summary>Entries are pending with a consumer since a time, delivered so often: true whatever was before.</summary>
    public static void SayClaimed(
        ref CommandContext c, int key, int groupName, int consumer, StreamGroup group, scoped ReadOnlySpan<StreamId> ids, long delivered, long deliveries)
    {
        for (; !ids.IsEmpty; ids = ids[Math.Min(ids.Length, EffectIds)..])
        {
            ReadOnlySpan<StreamId> part = ids[..Math.Min(ids.Length, EffectIds)];
            if (c.ReplaceEffect(arguments: part.Length + 13) is not { } effect) return;
            effect.Add("XCLAIM"u8);
            effect.Add(c.Args[key]);
            effect.Add(c.Args[groupName]);
            effect.Add(c.Args[consumer]);
            effect.Add(0);
            foreach (StreamId id in part) effect.Add(id);
            effect.Add("TIME"u8);
            effect.Add(delivered);
            effect.Add("RETRYCOUNT"u8);
            effect.Add(deliveries);
            effect.Add("FORCE"u8);
            effect.Add("JUSTID"u8);
            effect.Add("LASTID"u8);
            effect.Add(group.Last);
        }
    }

    /// <summary>A pending entry is pending no longer.</summary>
    public static void SayForgotten(ref CommandContext c, int key, int groupName, StreamId id)
    {
        if (c.ReplaceEffect(arguments: 4) is not { } effect) return;
        effect.Add("XACK"u8);
        effect.Add(c.Args[key]);
        effect.Add(c.Args[groupName]);
        effect.Add(id);
    }

    /// <summary>How far a group has read.</summary>
    public static void SayRead(ref CommandContext c, int key, int groupName, StreamGroup group)
    {
        if (c.ReplaceEffect(arguments: 7) is not { } effect) return;
        effect.Add("XGROUP"u8);
        effect.Add("SETID"u8);
        effect.Add(c.Args[key]);
        effect.Add(c.Args[groupName]);
        effect.Add(group.Last);
        effect.Add("ENTRIESREAD"u8);
        effect.Add(group.EntriesRead);
    }

    /// <summary>A count of deliveries does not grow beyond all numbers.</summary>
    public static long OneMore(long deliveries) => deliveries == long.MaxValue ? deliveries : deliveries + 1;
}
