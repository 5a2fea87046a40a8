using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Values.Streams;

/// <summary>
/// Computes the number of entries that a consumer group has read, and its lag, as far as this is possible without a walk. Deleted
/// entries leave no trace except the greatest identifier among them.
/// </summary>
public readonly record struct StreamCounts(StreamState State, long Count, StreamId First)
{
    public static StreamCounts Of(in Entry entry) =>
        new(StreamValue.State(entry), StreamValue.Count(entry), StreamValue.First(entry));

    private bool HasDeletedWithin => Count > 0 && State.HighestDeleted != StreamId.Min && First <= State.HighestDeleted;

    /// <summary>
    /// The count of entries read after a group reads its next entry. A group positioned before the first entry was given its
    /// count by a client, so it is computed anew.
    /// </summary>
    public long AfterReading(StreamGroup group, StreamId id)
    {
        long read = group.EntriesRead;
        if (read != StreamGroup.UnknownRead && group.Last >= First && !HasDeletedFrom(group.Last))
            return read < (long)State.Added ? read + 1 : (long)State.Added;
        return State.Added > 0 ? ReadUpTo(id) : read;
    }

    /// <summary>The number of entries that a group has not read, or null if it is unknown.</summary>
    public long? Lag(StreamGroup group)
    {
        if (State.Added == 0 || Count == 0) return 0;
        // The group has read none of the present entries. Its count of entries read is irrelevant.
        if (group.Last < First && State.HighestDeleted < First) return Count;
        long read = group.EntriesRead;
        if (read == StreamGroup.UnknownRead || HasDeletedFrom(group.Last)) read = ReadUpTo(group.Last);
        return read == StreamGroup.UnknownRead ? null : (long)State.Added - read;
    }

    /// <summary>Whether an entry with this or a greater identifier was deleted while other entries stayed.</summary>
    private bool HasDeletedFrom(StreamId id) => HasDeletedWithin && id <= State.HighestDeleted;

    /// <summary>
    /// The number of entries ever added up to an identifier, or <see cref="StreamGroup.UnknownRead"/> if it is unknown.
    /// </summary>
    public long ReadUpTo(StreamId id)
    {
        long added = (long)State.Added;
        if (added == 0) return 0;
        if (Count == 0 && id <= State.Last || id == State.Last) return added;
        if (id > State.Last || State.HighestDeleted != StreamId.Min && State.HighestDeleted >= First)
            return StreamGroup.UnknownRead;
        if (id < First) return added - Count;
        return id == First ? added - Count + 1 : StreamGroup.UnknownRead;
    }
}
