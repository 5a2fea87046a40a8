using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>The exchange of a value by one that was built in another keyspace of the store.</summary>
public sealed partial class Keyspace
{
    /// <summary>
    /// Takes over the record of a key from another keyspace of the store. It replaces the value that the key has here, if any. Nothing is
    /// copied, and memory for the indexes is taken before the first change.
    /// </summary>
    public void Adopt(in Entry built, in Entry old)
    {
        FaultPoint.Call();
        if (old.Exists) Preserve(old);
        uint handle = built.Slot;
        Enlist(built, old);
        store.Arena.BeginChange();
        if (old.Exists)
        {
            LeaveValue(old.Record, old.Slot);
            Publish(old, handle);
        }
        built.Keyspace.Unlist(built);
        store.Arena.EndChange();
        CountChange();
    }

    /// <summary>
    /// Adds a record to the indexes, except where it will take the place of the old record of its key. If memory is missing, changes nothing
    /// and throws.
    /// </summary>
    private void Enlist(in Entry built, in Entry old)
    {
        Record record = built.Record;
        (ulong hash, uint handle) = (built.Hash, built.Slot);
        long next = record.NextFieldExpiry;
        bool addsExpiry = record.HasExpiry && !(old.Exists && old.Record.HasExpiry);
        if (next > 0 && !FieldExpiries.TryAdd(next, handle)) Arena.ThrowOutOfMemory();
        if (!addsExpiry || !Unsafe.IsNullRef(ref Expires.TryAdd(hash, handle)))
        {
            if (old.Exists) return;
            if (!Unsafe.IsNullRef(ref KeysOf(hash).TryAdd(hash, handle)))
            {
                _keys.Counted(hash, 1);
                return;
            }
            if (addsExpiry) Expires.Remove(hash, ref Expires.FindHandle(hash, handle));
        }
        if (next > 0) FieldExpiries.Remove(next, handle);
        Arena.ThrowOutOfMemory();
    }
}
