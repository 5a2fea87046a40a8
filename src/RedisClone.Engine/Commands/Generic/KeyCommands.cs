using RedisClone.Configuration;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>Commands on keys of any type.</summary>
internal static class KeyCommands
{
    private const string LinearInKeys = "O(N) where N is the number of keys";

    public static readonly CommandRow[] Rows =
    [
        new("DEL key [key ...]",
            -2, Keys.Range(1, -1, flags: RM | KeyFlags.Delete), Write, "generic", "1.0.0", Delete, "Deletes keys.")
            { Complexity = LinearInKeys, Tips = CommandTips.MultiShardSum },
        new("UNLINK key [key ...]", -2, Keys.Range(1, -1, flags: RM | KeyFlags.Delete), Write | Fast, "generic", "4.0.0", Delete,
            "Deletes keys; their memory is freed in the background.")
            { Complexity = LinearInKeys, Tips = CommandTips.MultiShardSum },
        new("EXISTS key [key ...]",
            -2, Keys.Range(1, -1, flags: RO), ReadOnly | Fast, "generic", "1.0.0", Exists, "Returns how many of the keys exist.")
            { Complexity = LinearInKeys, Tips = CommandTips.MultiShardSum },
        new("TOUCH key [key ...]",
            -2, Keys.Range(1, -1, flags: RO), ReadOnly | Fast, "generic", "3.2.1", Touch,
            "Marks keys as used now and returns how many exist.")
            { Complexity = LinearInKeys, Tips = CommandTips.MultiShardSum },
        new("TYPE key", 2, Keys.At(1, RO), ReadOnly | Fast, "generic", "1.0.0", Type, "Returns the type of a key's value."),
        new("RENAME key newkey",
            3, Keys.At(1, RW | Access | KeyFlags.Delete).And(Keys.At(2, OW | Update)), Write, "generic", "1.0.0", Rename,
            "Renames a key and overwrites the new name."),
        new("RENAMENX key newkey",
            3, Keys.At(1, RW | Access | KeyFlags.Delete).And(Keys.At(2, OW | Insert)), Write | Fast, "generic", "1.0.0", RenameNx,
            "Renames a key if the new name does not exist."),
        new("COPY source destination [DB destination-db] [REPLACE]",
            -3, Keys.At(1, RO | Access).And(Keys.At(2, OW | Update)), Write | DenyOom | AnyDatabase, "generic", "6.2.0", Copy,
            "Copies a key's value to another key.")
            { Complexity = "O(N) worst case for collections, where N is the number of nested items. O(1) for string values." },
        new("MOVE key db",
            3, Keys.At(1, RW | Access | Update), Write | Fast | AnyDatabase, "generic", "1.0.0", Move, "Moves a key to another database."),
    ];

    /// <summary>The name of a type in the reply of TYPE.</summary>
    public static ReadOnlySpan<byte> TypeName(ValueType type) => type switch
    {
        ValueType.String => "string"u8,
        ValueType.List => "list"u8,
        ValueType.Set => "set"u8,
        ValueType.SortedSet => "zset"u8,
        ValueType.Hash => "hash"u8,
        ValueType.Stream => "stream"u8,
        _ => throw new ArgumentOutOfRangeException(nameof(type)),
    };

    private static void Delete(ref CommandContext c)
    {
        long deleted = 0;
        for (int i = 1; i < c.Args.Count; i++)
        {
            Entry entry = c.Peek(i);
            if (!entry.Exists) continue;
            c.Remove(entry, i);
            deleted++;
        }
        c.Reply.Integer(deleted);
    }

    private static void Exists(ref CommandContext c)
    {
        long count = 0;
        for (int i = 1; i < c.Args.Count; i++)
            if (c.PeekForRead(i).Exists) count++;
        c.Reply.Integer(count);
    }

    private static void Touch(ref CommandContext c)
    {
        long count = 0;
        for (int i = 1; i < c.Args.Count; i++)
        {
            Entry entry = c.PeekForRead(i);
            if (!entry.Exists) continue;
            // TOUCH counts as an access even if the client turned on NO-TOUCH.
            c.Data.AccessClock.Touch(entry);
            count++;
        }
        c.Reply.Integer(count);
    }

    private static void Type(ref CommandContext c)
    {
        Entry entry = c.PeekForRead(1);
        c.Reply.SimpleString(entry.Exists ? TypeName(entry.Type) : "none"u8);
    }

    private static void Rename(ref CommandContext c)
    {
        if (TryRename(ref c, replace: true, out _)) c.Reply.Ok();
    }

    private static void RenameNx(ref CommandContext c)
    {
        if (TryRename(ref c, replace: false, out bool renamed)) c.Reply.Integer(renamed ? 1 : 0);
    }

    private static bool TryRename(ref CommandContext c, bool replace, out bool renamed)
    {
        renamed = false;
        Entry source = c.FindForWrite(1);
        if (!source.Exists) return c.Fail(Errors.NoSuchKey);
        if (c.Args[1].SequenceEqual(c.Args[2]))
        {
            renamed = false;
            return true;
        }
        if (c.MoveToWorker(ValueTransfer.WorkOfMove(source, !c.AreInOneShard(1, 2)))) return false;
        Entry target = c.FindForWrite(2);
        if (target.Exists && !replace) return true;
        // The lookup of the target may remove it as expired and move the source, so the source is looked up again.
        source = c.FindForWrite(1);
        ValueTransfer.Move(source, target, c.Args[2]);
        c.NotifyNew(c.Args[2], c.Session.Database);
        c.Modified(1, NotifyFlags.Generic, "rename_from");
        c.AlsoModified(2, NotifyFlags.Generic, "rename_to");
        return renamed = true;
    }

    private static void Copy(ref CommandContext c)
    {
        int database = c.Session.Database;
        bool replace = false;
        for (int i = 3; i < c.Args.Count; i++)
        {
            if (c.Is(i, "REPLACE"u8)) replace = true;
            else if (c.Is(i, "DB"u8) && i + 1 < c.Args.Count) database = c.DatabaseIndex(++i);
            else c.FailSyntax();
            if (c.Failed) return;
        }
        if (database != 0 && c.Data.Config.ClusterEnabled)
        {
            c.Fail("ERR Copying to another database" + Errors.NotInCluster);
            return;
        }
        if (database == c.Session.Database && c.Args[1].SequenceEqual(c.Args[2]))
        {
            c.Fail(Errors.SameObject);
            return;
        }
        Entry source = c.FindForRead(1);
        if (!source.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        if (c.MoveToWorker(ValueTransfer.WorkOfCopy(source))) return;
        ulong hash = c.HashOf(2);
        Entry target = c.Find(c.Args[2], hash, database);
        if (target.Exists && !replace)
        {
            c.Reply.Integer(0);
            return;
        }
        source = c.Peek(1);
        ValueTransfer.Copy(source, target, c.Args[2]);
        c.NotifyNew(c.Args[2], database);
        c.Modified(c.Args[2], hash, database, NotifyFlags.Generic, "copy_to");
        c.Reply.Integer(1);
    }

    private static void Move(ref CommandContext c)
    {
        if (c.Data.Config.ClusterEnabled)
        {
            c.Fail("ERR MOVE" + Errors.NotInCluster);
            return;
        }
        int database = c.DatabaseIndex(2);
        if (!c.Failed && database == c.Session.Database) c.Fail(Errors.SameObject);
        if (c.Failed) return;
        Entry source = c.FindForWrite(1);
        ulong hash = c.HashOf(1);
        Entry target = c.Find(c.Args[1], hash, database);
        if (!source.Exists || target.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        ValueTransfer.Move(source, target, c.Args[1]);
        c.NotifyNew(c.Args[1], database);
        c.Modified(1, NotifyFlags.Generic, "move_from");
        c.Modified(c.Args[1], hash, database, NotifyFlags.Generic, "move_to");
        c.Reply.Integer(1);
    }
}
