using RedisClone.Server.Admin;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>What handlers of collections need besides.</summary>
internal ref partial struct CommandContext
{
    /// <summary>Finds the value of a type at a key argument, or its absence; false, with WRONGTYPE latched, where the key holds another.</summary>
    public bool TryFind(int argument, ValueType type, bool write, out Entry entry)
    {
        Entry found = write ? FindForWrite(argument) : FindForRead(argument);
        entry = found;
        return !found.Exists || Expect(found, type);
    }

    /// <summary>A collection's key goes with the last of its elements, of which so many are left.</summary>
    public readonly void RemoveIfEmpty(in Entry entry, long left, int keyArgument)
    {
        if (left > 0) return;
        entry.Keyspace.Remove(entry);
        Notify(keyArgument, NotifyFlags.Generic, "del");
    }

    /// <summary>
    /// Begins a value that will take the place of what a key argument holds: it is built apart, since the command may be reading the old one.
    /// </summary>
    public readonly Keyspace ScratchFor(int argument) => KeyspaceOf(HashOf(argument)).Store.Scratch;

    /// <summary>
    /// Puts a value that was built apart in the place of what the key argument held; an empty one only removes it.
    /// </summary>
    public void Store(in Entry built, int argument, long count, NotifyFlags kind, string keyEvent)
    {
        Entry old = FindForWrite(argument);
        if (count == 0)
        {
            built.Keyspace.Remove(built);
            if (old.Exists) Remove(old, argument);
            return;
        }
        Keyspace target = old.Keyspace;
        if (old.Exists) target.Remove(old);
        ValueTransfer.Move(built, target, Args[argument], HashOf(argument));
        Modified(argument, kind, keyEvent);
    }
}
