using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>
/// Functions that the consumer group commands share: they create a consumer on first use and write effects. An effect records
/// the resulting state of a pending entry or a group with the commands that Redis uses for it: XCLAIM, XACK, XGROUP SETID.
/// </summary>
internal static class StreamConsumers
{
    /// <summary>The greatest number of identifiers in one effect. More identifiers are split over several effects.</summary>
    private const int EffectIds = 1000;

    /// <summary>
    /// The size, in bytes, of the effects that add or remove pending entries, with one effect for each entry.
    /// </summary>
    public static long SizeOfEach(scoped in CommandContext c, int key, int groupName, int consumer, long entries) =>
        entries * SizeOfClaim(c, key, groupName, consumer, 1);

    /// <summary>
    /// The size, in bytes, of the effects of a delivery: its entries share effects, and one effect sets the last read
    /// identifier.
    /// </summary>
    public static long SizeOfDelivery(scoped in CommandContext c, int key, int groupName, int consumer, long entries) =>
        (entries / EffectIds + 1) * SizeOfClaim(c, key, groupName, consumer, 0) + entries * SizeOfId
        + EffectBuffer.SizeOf(7, c.Args[key].Length + c.Args[groupName].Length + 128L);

    /// <summary>The size, in bytes, of the effect that creates a consumer.</summary>
    public static long SizeOfConsumer(scoped in CommandContext c, int key, int groupName, int consumer) =>
        EffectBuffer.SizeOf(5, c.Args[key].Length + c.Args[groupName].Length + (long)c.Args[consumer].Length + 32);

    private static long SizeOfId => EffectBuffer.SizeOf(1, StreamIds.MaxLength);

    private static long SizeOfClaim(scoped in CommandContext c, int key, int groupName, int consumer, long ids) =>
        EffectBuffer.SizeOf(13, c.Args[key].Length + c.Args[groupName].Length + (long)c.Args[consumer].Length + 256)
        + ids * SizeOfId;

    /// <summary>Returns the consumer that an argument names, and creates it if it does not exist.</summary>
    public static StreamConsumer Obtain(ref CommandContext c, StreamGroup group, int key, int groupName, int name)
    {
        if (group.TryGetConsumer(c.Args[name], out StreamConsumer consumer)) return consumer;
        bool wasTold = BeginTelling(ref c);
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
        consumer = group.AddConsumer(c.Args[name], c.Now);
        c.IsTold = wasTold;
        return consumer;
    }

    /// <summary>
    /// Writes effects that make entries pending for a consumer, with the given delivery time and count. The effects hold
    /// regardless of the state before.
    /// </summary>
    public static void SayClaimed(
        ref CommandContext c, int key, int groupName, int consumer, StreamGroup group, scoped ReadOnlySpan<StreamId> ids, long delivered, long deliveries)
    {
        bool wasTold = BeginTelling(ref c);
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
        c.IsTold = wasTold;
    }

    /// <summary>Writes the effect that removes a pending entry.</summary>
    public static void SayForgotten(ref CommandContext c, int key, int groupName, StreamId id)
    {
        bool wasTold = BeginTelling(ref c);
        if (c.ReplaceEffect(arguments: 4) is not { } effect) return;
        effect.Add("XACK"u8);
        effect.Add(c.Args[key]);
        effect.Add(c.Args[groupName]);
        effect.Add(id);
        c.IsTold = wasTold;
    }

    /// <summary>Writes the effect that sets the last read identifier of a group and its count of read entries.</summary>
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

    /// <summary>
    /// Marks a change and its effect as incomplete until the caller restores the mark. An effect that cannot be written then leads to an image
    /// of the key.
    /// </summary>
    private static bool BeginTelling(ref CommandContext c)
    {
        bool wasTold = c.IsTold;
        c.IsTold = false;
        return wasTold;
    }

    /// <summary>Adds one to a delivery count, without overflow.</summary>
    public static long OneMore(long deliveries) => deliveries == long.MaxValue ? deliveries : deliveries + 1;
}
