using RedisClone.Configuration;
using RedisClone.Storage;

namespace RedisClone.Engine.Commands;

/// <summary>The part for the handlers of collections.</summary>
internal ref partial struct CommandContext
{
    /// <summary>
    /// Finds the value of a type at a key argument, or its absence. Returns false, with WRONGTYPE latched, if the key holds
    /// another type.
    /// </summary>
    public bool TryFind(int argument, ValueType type, bool write, out Entry entry)
    {
        Entry found = write ? FindForWrite(argument) : FindForRead(argument);
        entry = found;
        return !found.Exists || Expect(found, type);
    }

    /// <summary>Removes the key of a collection whose last element is gone.</summary>
    public readonly void RemoveIfEmpty(in Entry entry, long left, int keyArgument)
    {
        if (left > 0) return;
        entry.Keyspace.Remove(entry);
        Notify(keyArgument, NotifyFlags.Generic, "del");
    }

    /// <summary>
    /// Returns a keyspace for building a value that will replace the value at a key argument. It is separate because the command
    /// may still read the old value.
    /// </summary>
    public readonly Keyspace ScratchFor(int argument) => KeyspaceOf(HashOf(argument)).Store.Scratch;

    /// <summary>
    /// Replaces the value at the key argument by a value that was built separately. An empty value only removes the key. As in Redis, the new value
    /// has the frequency of use of the one that it replaces, unless <paramref name="isNewKey"/>.
    /// </summary>
    public void Store(Entry built, int argument, long count, NotifyFlags kind, string keyEvent, bool isNewKey = false)
    {
        Entry old = FindForWrite(argument);
        if (count == 0)
        {
            built.Keyspace.Remove(built);
            if (old.Exists) Remove(old, argument);
            return;
        }
        if (old.Exists && !isNewKey && Data.AccessClock.CountsFrequency) built.Access = old.Access;
        old.Keyspace.Adopt(built, old);
        Modified(argument, kind, keyEvent);
    }
}
