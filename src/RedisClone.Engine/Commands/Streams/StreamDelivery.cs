using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>
/// XREADGROUP on one stream. It delivers entries that are new to the group, or the pending entries of the consumer again;
/// with CLAIM, it also delivers entries that were pending for too long.
/// </summary>
internal readonly struct StreamDelivery
{
    private readonly StreamGroup _group;
    private readonly StreamConsumer _consumer;
    private readonly StreamReadOptions _options;
    private readonly int _key;
    private readonly StreamId _after;

    private StreamDelivery(StreamGroup group, StreamConsumer consumer, in StreamReadOptions options, int key, StreamId after)
    {
        _group = group;
        _consumer = consumer;
        _options = options;
        _key = key;
        _after = after;
    }

    private bool IsHistory => _after != StreamId.Max;

    /// <summary>Finds the consumer, and creates it if it does not exist.</summary>
    public static StreamDelivery Begin(ref CommandContext c, in Entry entry, in StreamReadOptions options, int key, StreamId after)
    {
        StreamGroup.TryGet(entry, c.Args[options.Group], out StreamGroup group);
        StreamConsumer consumer = StreamConsumers.Obtain(ref c, group, key, options.Group, options.Group + 1);
        consumer.Seen = c.Now;
        return new StreamDelivery(group, consumer, options, key, after);
    }

    /// <summary>
    /// Whether there is a reply for the consumer. A read of its history always has one, even if it is empty.
    /// </summary>
    public bool HasAny(in Entry entry, long now) =>
        IsHistory
        || StreamValue.Count(entry) > 0 && StreamValue.LastEntry(entry) > _group.Last
        || _options.Claim >= 0 && _group.TryNextByTime(long.MinValue, StreamId.Min, out PendingEntry oldest) && oldest.Delivered <= now - _options.Claim;

    public void Serve(ref CommandContext c, in Entry entry, ref StreamReadBudget budget)
    {
        DeferredReply array = c.Reply.BeginDeferred();
        long replied = IsHistory ? History(ref c, entry, ref budget) : 0;
        if (!IsHistory && _options.Claim >= 0) replied += Claimed(ref c, entry, ref budget);
        if (!IsHistory) replied += New(ref c, entry, ref budget);
        c.Reply.EndArray(array, replied);
    }

    private long New(ref CommandContext c, in Entry entry, ref StreamReadBudget budget)
    {
        if (!_group.Last.TryNext(out StreamId from)) return 0;
        // The reply and the list come first, because memory may be missing for them.
        var delivered = new StreamIdList();
        foreach (StreamEntry found in StreamValue.Entries(entry, from, StreamId.Max))
        {
            if (!budget.TryTake(found)) break;
            if (_options.Claim < 0)
            {
                c.Reply.StreamEntry(found);
            }
            else
            {
                // With CLAIM, the reply for each entry also has its idle time and its number of earlier deliveries. Both are
                // zero for a new entry.
                c.Reply.ArrayHeader(4);
                c.Reply.StreamEntryParts(found);
                c.Reply.Integer(0);
                c.Reply.Integer(0);
            }
            delivered.Add(found.Id);
        }
        if (delivered.Count > 0) Deliver(ref c, entry, delivered.Items);
        int replied = delivered.Count;
        delivered.Dispose();
        return replied;
    }

    private void Deliver(ref CommandContext c, in Entry entry, ReadOnlySpan<StreamId> ids)
    {
        StreamGroup group = _group;
        StreamConsumer consumer = _consumer;
        if (!_options.NoAck)
        {
            SetPending(ref c, ids);
            consumer.Active = c.Now;
        }
        c.IsTold = false;
        StreamCounts counts = StreamCounts.Of(entry);
        foreach (StreamId id in ids)
        {
            group.EntriesRead = counts.AfterReading(group, id);
            group.Last = id;
        }
        c.Changed();
        if (!_options.NoAck) StreamConsumers.SayClaimed(ref c, _key, _options.Group, _options.Group + 1, group, ids, c.Now, 1);
        StreamConsumers.SayRead(ref c, _key, _options.Group, group);
        c.IsTold = true;
    }

    /// <summary>
    /// Makes all entries pending. If memory is missing, makes none pending and throws. After XGROUP SETID, entries may be pending already: then
    /// those that were changed stay so, and the stream as it is now becomes the effect.
    /// </summary>
    private void SetPending(ref CommandContext c, ReadOnlySpan<StreamId> ids)
    {
        int set = 0;
        bool anyKnown = false;
        c.IsTold = false;
        try
        {
            for (; set < ids.Length; set++) anyKnown |= _group.SetPending(ids[set], _consumer, c.Now, 1);
        }
        catch (OutOfMemoryException) when (!anyKnown)
        {
            foreach (StreamId id in ids[..set]) _group.RemovePending(id);
            c.IsTold = true;
            throw;
        }
    }

    /// <summary>Delivers the pending entries of the consumer again. The reply for a deleted entry has no fields.</summary>
    private long History(ref CommandContext c, in Entry entry, ref StreamReadBudget budget)
    {
        StreamGroup group = _group;
        long replied = 0;
        bool more = _after.TryNext(out StreamId next);
        while (more && budget.Entries > 0 && _consumer.TryNextPending(next, out StreamId id))
        {
            if (StreamValue.TryGet(entry, id, out StreamEntry found))
            {
                if (!budget.TryTake(found)) break;
                group.TryGetPending(id, out PendingEntry pending);
                c.Reply.StreamEntry(found);
                long deliveries = StreamConsumers.OneMore(pending.Deliveries);
                group.SetPending(id, _consumer, c.Now, deliveries);
                StreamConsumers.SayClaimed(ref c, _key, _options.Group, _options.Group + 1, group, [id], c.Now, deliveries);
            }
            else
            {
                budget.TakeGone();
                c.Reply.ArrayHeader(2);
                c.Reply.StreamId(id);
                c.Reply.NullArray();
            }
            replied++;
            more = id.TryNext(out next);
        }
        return replied;
    }

    /// <summary>
    /// Claims the entries that are pending for long enough, the longest first. An entry that the stream no longer has stops
    /// being pending.
    /// </summary>
    private long Claimed(ref CommandContext c, in Entry entry, ref StreamReadBudget budget)
    {
        var candidates = new StreamIdList();
        (long order, StreamId next) = (long.MinValue, StreamId.Min);
        long least = c.Now - _options.Claim;
        while (candidates.Count < budget.Entries && _group.TryNextByTime(order, next, out PendingEntry pending) && pending.Delivered <= least)
        {
            candidates.Add(pending.Id);
            order = pending.Order;
            if (!pending.Id.TryNext(out next)) order++;
        }
        long replied = 0;
        StreamGroup group = _group;
        StreamConsumer consumer = _consumer;
        foreach (StreamId id in candidates.Items)
        {
            group.TryGetPending(id, out PendingEntry pending);
            if (!StreamValue.TryGet(entry, id, out StreamEntry found))
            {
                group.RemovePending(id);
                c.Changed();
                StreamConsumers.SayForgotten(ref c, _key, _options.Group, id);
                continue;
            }
            if (!budget.TryTake(found)) break;
            c.Reply.ArrayHeader(4);
            c.Reply.StreamEntryParts(found);
            c.Reply.Integer(pending.HasConsumer ? c.Now - pending.Delivered : -1);
            c.Reply.Integer(pending.Deliveries);
            long deliveries = StreamConsumers.OneMore(pending.Deliveries);
            group.SetPending(id, consumer, c.Now, deliveries);
            consumer.Active = c.Now;
            c.Changed();
            StreamConsumers.SayClaimed(ref c, _key, _options.Group, _options.Group + 1, group, [id], c.Now, deliveries);
            replied++;
        }
        candidates.Dispose();
        return replied;
    }
}
