using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>The order of the hashes with fields that expire.</summary>
public sealed partial class Keyspace
{
    /// <summary>
    /// Records the earliest time at which a field of a hash expires (0 for never), in the value and in the order of all hashes
    /// with such fields. Called before the field gets its expiry.
    /// </summary>
    internal void SetNextFieldExpiry(in Entry entry, long next)
    {
        Record record = entry.Record;
        long old = record.NextFieldExpiry;
        if (old == next) return;
        if (next != 0) FieldExpiries.Add(next, entry.Slot);
        store.Arena.BeginChange();
        if (old != 0) FieldExpiries.Remove(old, entry.Slot);
        record.NextFieldExpiry = next;
        store.Arena.EndChange();
    }

    /// <summary>
    /// Like <see cref="SetNextFieldExpiry"/>, after fields lost their expiry. If memory for the later time is missing, the old
    /// time stays, and the hash is only visited too early.
    /// </summary>
    internal void TrySetNextFieldExpiry(in Entry entry, long next)
    {
        try
        {
            SetNextFieldExpiry(entry, next);
        }
        catch (OutOfMemoryException)
        {
        }
    }

    /// <summary>
    /// Registers a hash that was copied into a new record. If memory is missing, removes the record and throws.
    /// </summary>
    internal void AdoptFieldExpiry(in Entry entry)
    {
        Record record = entry.Record;
        if (record.NextFieldExpiry is not (> 0 and var next)) return;
        if (FieldExpiries.TryAdd(next, entry.Slot)) return;
        record.NextFieldExpiry = 0;
        Detach(entry);
        Arena.ThrowOutOfMemory();
    }

    private void MoveFieldExpiry(in Entry entry, long next, uint moved)
    {
        if (!FieldExpiries.TryAdd(next, moved))
        {
            if (new Record(store.Arena.FromStart(moved)).HasExpiry && !entry.Record.HasExpiry)
                Expires.Remove(entry.Hash, ref Expires.FindHandle(entry.Hash, moved));
            FreeAndThrow(moved);
        }
        FieldExpiries.Remove(next, entry.Slot);
    }
}
