using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>
/// Reserves memory for the effects of XREADGROUP before the first change. The reserved size is an upper bound. It does not
/// include pending entries that the read cannot reach, so a read of an empty history reserves little.
/// </summary>
internal static class StreamReadEffects
{
    /// <summary>
    /// The greatest number of keys for which <see cref="MayBeDeliveredBefore"/> compares the keys with each other.
    /// </summary>
    private const int ComparedStreams = 16;

    /// <summary>Reserves the memory. If the effects would be too long, it sets an error and returns false.</summary>
    public static bool TryReserve(ref CommandContext c, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> after)
    {
        // Only entries that the read certainly delivers are taken from this budget, so it is never smaller than that of the
        // read.
        var budget = new StreamReadBudget(options);
        long size = 0;
        int name = options.Group, consumerName = options.Group + 1;
        for (int i = 0; i < options.Keys && !budget.IsSpent; i++)
        {
            int key = options.FirstKey + i;
            Entry entry = c.Peek(key);
            if (!entry.Exists || !StreamGroup.TryGet(entry, c.Args[name], out StreamGroup group)) continue;
            if (!group.TryGetConsumer(c.Args[consumerName], out StreamConsumer consumer))
                size += StreamConsumers.SizeOfConsumer(c, key, name, consumerName);
            budget.BeginStream();
            if (after[i] != StreamId.Max)
            {
                long again = MayBeDeliveredBefore(c, options, after, i)
                    ? Math.Min(budget.Entries, group.PendingCount + StreamValue.MostBetween(entry, group.Last, StreamId.Max))
                    : CountHistory(entry, consumer, after[i], ref budget);
                size += StreamConsumers.SizeOfEach(c, key, name, consumerName, again);
                continue;
            }
            if (options.Claim >= 0)
            {
                long claimed = Math.Min(budget.Entries, group.CountDelivered(c.Now - options.Claim));
                size += StreamConsumers.SizeOfEach(c, key, name, consumerName, claimed);
            }
            long added = CountNew(entry, group, options, budget);
            if (added > 0) size += StreamConsumers.SizeOfDelivery(c, key, name, consumerName, options.NoAck ? 0 : added);
        }
        return size == 0 || c.ReserveEffects(size);
    }

    /// <summary>
    /// Counts the entries that a read of the history delivers. A pending entry that the stream no longer has causes no effect
    /// and is not counted.
    /// </summary>
    private static long CountHistory(scoped in Entry entry, StreamConsumer consumer, StreamId after, ref StreamReadBudget budget)
    {
        long count = 0;
        bool more = after.TryNext(out StreamId next) && consumer.Exists;
        while (more && budget.Entries > 0 && consumer.TryNextPending(next, out StreamId id))
        {
            if (!StreamValue.TryGet(entry, id, out StreamEntry found)) budget.TakeGone();
            else if (!budget.TryTake(found)) break;
            else count++;
            more = id.TryNext(out next);
        }
        return count;
    }

    /// <summary>Counts the new entries that the read may deliver. It examines them only if MAXSIZE is given.</summary>
    private static long CountNew(scoped in Entry entry, StreamGroup group, in StreamReadOptions options, StreamReadBudget budget)
    {
        long most = Math.Min(budget.Entries, StreamValue.MostBetween(entry, group.Last, StreamId.Max));
        if (options.MaxSize == long.MaxValue || !group.Last.TryNext(out StreamId from)) return most;
        long count = 0;
        foreach (StreamEntry found in StreamValue.Entries(entry, from, StreamId.Max))
        {
            if (!budget.TryTake(found)) break;
            count++;
        }
        return count;
    }

    /// <summary>
    /// Whether the same command delivers new entries of the same stream first, which adds them to the history.
    /// </summary>
    private static bool MayBeDeliveredBefore(
        scoped in CommandContext c, in StreamReadOptions options, scoped ReadOnlySpan<StreamId> after, int index)
    {
        if (!after[..index].Contains(StreamId.Max)) return false;
        if (options.Keys > ComparedStreams) return true;
        for (int i = 0; i < index; i++)
        {
            if (after[i] == StreamId.Max && c.Args[options.FirstKey + i].SequenceEqual(c.Args[options.FirstKey + index]))
                return true;
        }
        return false;
    }
}
