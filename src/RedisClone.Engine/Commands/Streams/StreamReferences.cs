using RedisClone.Configuration;
using RedisClone.Engine.Effects;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>How the deletion of an entry treats references to it: the pending entries of groups.</summary>
internal enum StreamReferenceRule
{
    /// <summary>References stay, although their entry is deleted.</summary>
    Keep,

    /// <summary>References are deleted with their entry.</summary>
    Delete,

    /// <summary>An entry is deleted only if every group has read and acknowledged it.</summary>
    Acknowledged,
}

/// <summary>Deletes entries with respect to the groups that refer to them, for XDELEX, XACKDEL, XADD and XTRIM.</summary>
internal static class StreamReferences
{
    private const int Absent = -1, Deleted = 1, Kept = 2;

    public static readonly CommandRow[] Rows =
    [
        new("XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
            -5, Keys.At(1, RW | KeyFlags.Delete), Write | Fast, "stream", "8.2.0", Delete, "Deletes entries of a stream and returns the result for each.")
            { Complexity = "O(1) for each single item to delete in the stream, regardless of the stream size." },
        new("XACKDEL key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]",
            -6, Keys.At(1, RW | Update | KeyFlags.Delete), Write | Fast, "stream", "8.2.0", AcknowledgeAndDelete, "Acknowledges entries, and deletes them.")
            { Complexity = "O(1) for each entry ID processed." },
    ];

    /// <summary>Reads a rule at an argument; returns false if the argument is not a rule.</summary>
    public static bool TryRead(ref CommandContext c, int argument, ref StreamReferenceRule? rule)
    {
        StreamReferenceRule? read =
            c.Is(argument, "KEEPREF"u8) ? StreamReferenceRule.Keep
            : c.Is(argument, "DELREF"u8) ? StreamReferenceRule.Delete
            : c.Is(argument, "ACKED"u8) ? StreamReferenceRule.Acknowledged
            : null;
        if (read is null) return false;
        if (rule is not null) c.FailSyntax();
        rule = read;
        return true;
    }

    /// <summary>An upper bound of the size, in bytes, of the effects of a trim after one more entry is added.</summary>
    public static long SizeOfTrim(
        scoped in CommandContext c, scoped in Entry entry, in StreamTrim trim, StreamReferenceRule rule) =>
        !c.EffectsWanted || rule == StreamReferenceRule.Keep || !entry.Exists ? 0 : SizeOf(c, entry, rule, trim.Count(entry) + 1);

    /// <summary>The size, in bytes, of the effects that delete a number of entries.</summary>
    private static long SizeOf(scoped in CommandContext c, scoped in Entry entry, StreamReferenceRule rule, long entries)
    {
        long size = EffectBuffer.SizeOf(2 + entries, "XDEL"u8.Length + c.Args[1].Length + entries * StreamIds.MaxLength);
        if (rule != StreamReferenceRule.Delete || !entry.Exists) return size;
        for (long i = 0; i < StreamGroup.Count(entry); i++)
        {
            StreamGroup group = StreamGroup.At(entry, i);
            long one = EffectBuffer.SizeOf(4, "XACK"u8.Length + c.Args[1].Length + group.Name.Length + (long)StreamIds.MaxLength);
            size += Math.Min(entries, group.PendingCount) * one;
        }
        return size;
    }

    /// <summary>Trims a stream by a rule and returns the number of deleted entries.</summary>
    public static long Trim(ref CommandContext c, in Entry entry, in StreamTrim trim, StreamReferenceRule rule)
    {
        if (rule == StreamReferenceRule.Keep || StreamGroup.Count(entry) == 0) return trim.Apply(entry);
        if (rule == StreamReferenceRule.Acknowledged) return TrimAcknowledged(ref c, entry, trim);
        long count = trim.Count(entry);
        foreach (StreamEntry gone in StreamValue.Entries(entry))
        {
            if (count-- == 0) break;
            Drop(ref c, entry, gone.Id);
        }
        return trim.Apply(entry);
    }

    /// <summary>
    /// Deletes entries that every group has acknowledged, from the first on, at most as many as an ordinary trim would.
    /// Entries between them stay, so the effect is an XDEL with the identifiers.
    /// </summary>
    private static long TrimAcknowledged(ref CommandContext c, in Entry entry, in StreamTrim trim)
    {
        long excess = trim.Count(entry);
        if (excess == 0) return 0;
        bool mayGoOn = !trim.ById && !trim.Approximate;
        StreamId read = StreamId.Max;
        for (long i = 0; i < StreamGroup.Count(entry); i++)
            if (StreamGroup.At(entry, i).Last < read) read = StreamGroup.At(entry, i).Last;
        var free = new StreamIdList();
        long looked = 0;
        foreach (StreamEntry found in StreamValue.Entries(entry, StreamId.Min, read))
        {
            if (free.Count == excess || !mayGoOn && looked++ == excess) break;
            if (IsFree(entry, found.Id)) free.Add(found.Id);
        }
        foreach (StreamId id in free.Items) StreamValue.Delete(entry, id);
        SayDeleted(ref c, free.Items);
        int trimmed = free.Count;
        free.Dispose();
        return trimmed;
    }

    private static void Delete(ref CommandContext c)
    {
        c.IsTold = true;
        if (!IdBlock.TryRead(ref c, 2, out IdBlock block) || !c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        if (c.EffectsWanted && !c.ReserveEffects(SizeOf(c, entry, block.Rule, block.Count))) return;
        var deleted = new StreamIdList();
        BeginReply(ref c, block.Count, ref deleted);
        int references = 0;
        for (int i = block.First; i < block.End; i++)
        {
            StreamId id = c.StreamId(i);
            c.Reply.Integer(entry.Exists ? Delete(ref c, entry, id, block.Rule, ref deleted, ref references) : Absent);
        }
        SayDeleted(ref c, deleted.Items);
        if (deleted.Count > 0) c.Modified(1, NotifyFlags.Stream, "xdel");
        else if (references > 0) c.Changed();
        deleted.Dispose();
    }

    /// <summary>Begins an array of small integers, and takes the memory for all of them and for the list before the first change.</summary>
    private static void BeginReply(ref CommandContext c, int count, scoped ref StreamIdList deleted)
    {
        deleted.MakeRoom(count);
        c.Reply.ArrayHeader(count);
        c.Reply.EnsureRoom(checked(count * ":-1\r\n".Length));
        c.IsTold = false;
    }

    private static int Delete(
        ref CommandContext c, in Entry entry, StreamId id, StreamReferenceRule rule, scoped ref StreamIdList deleted, scoped ref int references)
    {
        bool exists = StreamValue.Contains(entry, id);
        if (exists && rule == StreamReferenceRule.Acknowledged && !IsFree(entry, id)) return Kept;
        if (rule == StreamReferenceRule.Delete) references += Drop(ref c, entry, id);
        if (!StreamValue.Delete(entry, id)) return Absent;
        deleted.Add(id);
        return Deleted;
    }

    private static void AcknowledgeAndDelete(ref CommandContext c)
    {
        c.IsTold = true;
        if (!IdBlock.TryRead(ref c, 3, out IdBlock block) || !c.TryFind(1, ValueType.Stream, write: true, out Entry entry)) return;
        long text = "XACK"u8.Length + c.Args[1].Length + c.Args[2].Length + (long)StreamIds.MaxLength;
        long acknowledged = block.Count * EffectBuffer.SizeOf(4, text);
        if (c.EffectsWanted && !c.ReserveEffects(acknowledged + SizeOf(c, entry, block.Rule, block.Count))) return;
        var deleted = new StreamIdList();
        BeginReply(ref c, block.Count, ref deleted);
        int references = 0;
        StreamGroup group = default;
        bool found = entry.Exists && StreamGroup.TryGet(entry, c.Args[2], out group);
        for (int i = block.First; i < block.End; i++)
        {
            StreamId id = c.StreamId(i);
            if (!found || !group.RemovePending(id))
            {
                c.Reply.Integer(Absent);
                continue;
            }
            references++;
            SayAcknowledged(ref c, c.Args[2], id);
            int outcome = Delete(ref c, entry, id, block.Rule, ref deleted, ref references);
            c.Reply.Integer(outcome == Absent ? Deleted : outcome);
        }
        SayDeleted(ref c, deleted.Items);
        if (deleted.Count > 0) c.Modified(1, NotifyFlags.Stream, "xdel");
        else if (references > 0) c.Changed();
        deleted.Dispose();
    }

    /// <summary>Whether every group has read an entry and no group has it pending.</summary>
    private static bool IsFree(in Entry entry, StreamId id)
    {
        for (long i = 0; i < StreamGroup.Count(entry); i++)
        {
            StreamGroup group = StreamGroup.At(entry, i);
            if (group.Last < id || group.TryGetPending(id, out _)) return false;
        }
        return true;
    }

    /// <summary>
    /// Removes an entry from the pending entries of all groups and returns the number of groups that had it.
    /// </summary>
    private static int Drop(ref CommandContext c, in Entry entry, StreamId id)
    {
        int dropped = 0;
        for (long i = 0; i < StreamGroup.Count(entry); i++)
        {
            StreamGroup group = StreamGroup.At(entry, i);
            if (!group.RemovePending(id)) continue;
            SayAcknowledged(ref c, group.Name, id);
            dropped++;
        }
        return dropped;
    }

    private static void SayAcknowledged(ref CommandContext c, scoped ReadOnlySpan<byte> group, StreamId id)
    {
        if (c.ReplaceEffect(arguments: 4) is not { } effect) return;
        effect.Add("XACK"u8);
        effect.Add(c.Args[1]);
        effect.Add(group);
        effect.Add(id);
    }

    private static void SayDeleted(ref CommandContext c, scoped ReadOnlySpan<StreamId> ids)
    {
        if (ids.IsEmpty || c.ReplaceEffect(arguments: 2 + ids.Length) is not { } effect) return;
        effect.Add("XDEL"u8);
        effect.Add(c.Args[1]);
        foreach (StreamId id in ids) effect.Add(id);
    }

    /// <summary>A rule before or after "IDS numids id [id ...]".</summary>
    private readonly struct IdBlock(int first, int count, StreamReferenceRule rule)
    {
        public int First => first;

        public int Count => count;

        public int End => first + count;

        public StreamReferenceRule Rule => rule;

        public static bool TryRead(ref CommandContext c, int from, out IdBlock block)
        {
            StreamReferenceRule? rule = null;
            int first = 0, count = 0;
            for (int i = from; i < c.Args.Count && !c.Failed; i++)
            {
                if (TryRead(ref c, i, ref rule)) continue;
                if (first > 0 || !c.Is(i, "IDS"u8) || i + 1 == c.Args.Count)
                {
                    c.FailSyntax();
                    break;
                }
                long told = c.Int64(i + 1, 1, long.MaxValue, "ERR Number of IDs must be a positive integer");
                first = i + 2;
                if (!c.Failed && told > c.Args.Count - first) c.Fail("ERR The `numids` parameter must match the number of " +
                    "arguments");
                if (c.Failed) break;
                count = (int)told;
                for (i = first; i < first + count && !c.Failed; i++) c.StreamId(i);
                i--;
            }
            if (!c.Failed && first == 0) c.FailSyntax();
            block = new IdBlock(first, count, rule ?? StreamReferenceRule.Keep);
            return !c.Failed;
        }

        private static bool TryRead(ref CommandContext c, int argument, ref StreamReferenceRule? rule) => StreamReferences.TryRead(ref c, argument, ref rule);
    }
}
