namespace RedisClone.Storage;

/// <summary>
/// How many entries of a stream lie behind a place in it, as far as that can be told without walking: deleted entries leave no trace
/// but the greatest identifier among them.
/// </summary>
public readonly record struct StreamCounts(StreamState State, long Count, StreamId First)
{
    public static StreamCounts Of(in Entry entry) => new(StreamValue.State(entry), StreamValue.Count(entry), StreamValue.First(entry));

    private bool HasDeletedWithin => Count > 0 && State.HighestDeleted != StreamId.Min && First <= State.HighestDeleted;

    /// <summary>
    /// What a group's count becomes with the next entry that it reads. A group that is before the first entry was told its
    /// count: it begins anew.
    /// </summary>
    public long AfterReading(StreamGroup group, StreamId id)
    {
        long read = group.EntriesRead;
        if (read != StreamGroup.UnknownRead && group.Last >= First && !HasDeletedFrom(group.Last))
            return Math.Min(read + 1, (long)State.Added);
        return State.Added > 0 ? ReadUpTo(id) : read;
    }

    /// <summary>How many entries a group has not read; null where it cannot be told.</summary>
    public long? Lag(StreamGroup group)
    {
        if (State.Added == 0 || Count == 0) return 0;
        // All that is there is still to be read, whatever the group was told of what is not there any more.
        if (group.Last < First && State.HighestDeleted < First) return Count;
        long read = group.EntriesRead;
        if (read == StreamGroup.UnknownRead || HasDeletedFrom(group.Last)) read = ReadUpTo(group.Last);
        return read == StreamGroup.UnknownRead ? null : (long)State.Added - read;
    }

    /// <summary>Whether an entry of this or a greater identifier was deleted while others stayed.</summary>
    private bool HasDeletedFrom(StreamId id) => HasDeletedWithin && id <= State.HighestDeleted;

    /// <summary>The count of entries ever added up to an identifier, <see cref="StreamGroup.UnknownRead"/> where it cannot be told.</summary>
    public long ReadUpTo(StreamId id)
    {
        long added = (long)State.Added;
        if (added == 0) return 0;
        if (Count == 0 && id <= State.Last || id == State.Last) return added;
        if (id > State.Last || State.HighestDeleted != StreamId.Min && State.HighestDeleted >= First) return StreamGroup.UnknownRead;
        if (id < First) return added - Count;
        return id == First ? added - Count + 1 : StreamGroup.UnknownRead;
    }
}
