using RedisClone.Configuration;
using RedisClone.Engine.Commands.Collections;
using RedisClone.Engine.Effects;
using RedisClone.Memory;
using RedisClone.Storage;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Sets;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Sets;

/// <summary>The set commands on single members. <see cref="SetAlgebra"/> has unions, intersections and differences.</summary>
internal static class SetCommands
{
    public static readonly CommandRow[] Rows =
    [
        new("SADD key member [member ...]",
            -3, Keys.At(1, RW | KeyFlags.Insert), Write | DenyOom | Fast | Repeatable, "set", "1.0.0", Add, "Adds members to a set.")
            { FirstMember = 2, Complexity = "O(1) for each element added, so O(N) to add N elements when the command is " +
                "called with multiple arguments." },
        new("SREM key member [member ...]",
            -3, Keys.At(1, RW | KeyFlags.Delete), Write | Fast, "set", "1.0.0", Remove, "Removes members from a set.")
            { FirstMember = 2, Complexity = "O(N) where N is the number of members to be removed." },
        new("SMOVE source destination member",
            4, Keys.At(1, RW | Access | KeyFlags.Delete).And(Keys.At(2, RW | KeyFlags.Insert)), Write | Fast, "set", "1.0.0", Move,
            "Moves a member from one set to another.") { FirstMember = 3 },
        new("SISMEMBER key member",
            3, Keys.At(1, RO), ReadOnly | Fast, "set", "1.0.0", Contains, "Returns whether a value is a member of a set.")
            { FirstMember = 2 },
        new("SMISMEMBER key member [member ...]",
            -3, Keys.At(1, RO | Access), ReadOnly | Fast, "set", "6.2.0", ContainsMany,
            "Returns for each value whether it is a member of a set.")
            { FirstMember = 2, Complexity = "O(N) where N is the number of elements being checked for membership" },
        new("SCARD key", 2, Keys.At(1, RO), ReadOnly | Fast, "set", "1.0.0", Cardinality, "Counts a set's members."),
        new("SMEMBERS key", 2, Keys.At(1, RO | Access), ReadOnly, "set", "1.0.0", Members, "Returns all members of a set.")
            { Complexity = "O(N) where N is the set cardinality.", Tips = CommandTips.NondeterministicOrder },
        new("SPOP key [count]",
            -2, Keys.At(1, RW | Access | KeyFlags.Delete), Write | Fast, "set", "1.0.0", Pop,
            "Removes and returns random members.")
            { Complexity = "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.", Tips = CommandTips.Nondeterministic },
        new("SRANDMEMBER key [count]",
            -2, Keys.At(1, RO | Access), ReadOnly, "set", "1.0.0", RandomMembers, "Returns random members.")
            {
                Complexity = "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed count.",
                Tips = CommandTips.Nondeterministic
            },
        new("SSCAN key cursor [MATCH pattern] [COUNT count]",
            -3, Keys.At(1, RO | Access), ReadOnly, "set", "2.8.0", Scan, "Iterates over the members of a set.")
            { Complexity = "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor " +
                "to return back to 0. N is the number of elements inside the collection.", Tips = CommandTips.Nondeterministic },
    ];

    // ---- writing

    private static void Add(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Set, write: true, out Entry entry)) return;
        if (!entry.Exists)
        {
            entry = SetValue.Create(entry.Keyspace, c.Args[1], entry.Hash);
            SetValue.Reserve(entry, c.Args.Count - 2, c.Args[2]);
        }
        long added = 0;
        for (int i = 2; i < c.Args.Count; i++)
            if (SetValue.Add(entry, c.Args[i])) added++;
        if (added > 0) c.Modified(1, NotifyFlags.Set, "sadd");
        c.Reply.Integer(added);
    }

    private static void Remove(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Set, write: true, out Entry entry)) return;
        long removed = 0;
        for (int i = 2; entry.Exists && i < c.Args.Count; i++)
            if (SetValue.Remove(entry, c.Args[i])) removed++;
        if (removed > 0)
        {
            c.Modified(1, NotifyFlags.Set, "srem");
            c.RemoveIfEmpty(entry, SetValue.Count(entry), 1);
        }
        c.Reply.Integer(removed);
    }

    private static void Move(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Set, write: true, out Entry source)) return;
        if (!source.Exists)
        {
            c.Reply.Integer(0);
            return;
        }
        if (!c.TryFind(2, ValueType.Set, write: true, out Entry target)) return;
        // The lookup of the target may remove it as expired and move the entry of the source, so the source is looked up
        // again.
        source = c.Peek(1);
        if (c.Args[1].SequenceEqual(c.Args[2]))
        {
            c.Reply.Integer(SetValue.Contains(source, c.Args[3]) ? 1 : 0);
            return;
        }
        if (!SetValue.Contains(source, c.Args[3]))
        {
            c.Reply.Integer(0);
            return;
        }
        // The addition comes first: memory may be missing for it, and the removal needs none.
        bool added = true;
        if (target.Exists) added = SetValue.Add(target, c.Args[3]);
        else
        {
            // The new set appears with its member: a failure before changes nothing.
            Entry built = SetValue.Create(c.ScratchFor(2), c.Args[2], target.Hash);
            SetValue.Add(built, c.Args[3]);
            target.Keyspace.Adopt(built, target);
        }
        source = c.Peek(1);
        SetValue.Remove(source, c.Args[3]);
        c.Modified(1, NotifyFlags.Set, "srem");
        c.RemoveIfEmpty(source, SetValue.Count(source), 1);
        if (added) c.Modified(2, NotifyFlags.Set, "sadd");
        c.Reply.Integer(1);
    }

    private static void Pop(ref CommandContext c)
    {
        bool many = c.Args.Count == 3;
        if (c.Args.Count > 3) c.FailSyntax();
        long wanted = many && !c.Failed ? c.Int64(2, 0, long.MaxValue, Errors.NotPositive) : 1;
        if (c.Failed || !c.TryFind(1, ValueType.Set, write: true, out Entry entry)) return;
        if (!entry.Exists || wanted == 0)
        {
            if (many) c.Reply.SetHeader(0);
            else c.Reply.Null();
            return;
        }
        long all = SetValue.Count(entry);
        if (c.MoveToWorker(Math.Min(wanted, all))) return;
        if (many && wanted >= all)
        {
            c.Reply.SetHeader(all);
            foreach (Element member in SetValue.Members(entry)) c.Reply.Element(member);
            entry.Keyspace.Remove(entry);
            c.ReplaceWithRemoval(1);
            c.Modified(1, NotifyFlags.Set, "spop");
            c.Notify(1, NotifyFlags.Generic, "del");
            return;
        }
        if (wanted > 1 && c.EffectsWanted) PopJournalled(ref c, entry, wanted);
        else PopEach(ref c, entry, wanted, many);
        if (c.Failed) return;
        c.Modified(1, NotifyFlags.Set, "spop");
        c.RemoveIfEmpty(entry, SetValue.Count(entry), 1);
    }

    /// <summary>
    /// Pops members one by one, each chosen at random from the remaining ones. If effects are wanted, callers use it for a
    /// single member only.
    /// </summary>
    private static void PopEach(ref CommandContext c, in Entry entry, long count, bool many)
    {
        if (many) c.Reply.SetHeader(count);
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        byte[] copy = [];
        for (; count > 0; count--)
        {
            ReadOnlySpan<byte> member = SetValue.Random(entry).Text(digits);
            if (c.EffectsWanted)
            {
                if (!c.ReserveEffects(EffectBuffer.SizeOf(3, "SREM"u8.Length + c.Args[1].Length + (long)member.Length))) return;
                c.ReplaceEffect("SREM"u8, c.Args[1], member);
            }
            c.Reply.Bulk(member);
            // The removal moves the text of the member while it reads its argument, so the text is copied first.
            if (member.Length > copy.Length)
            {
                RentedArrays.Return(copy);
                copy = RentedArrays.Rent<byte>(member.Length);
            }
            member.CopyTo(copy);
            SetValue.Remove(entry, copy.AsSpan(0, member.Length));
        }
        RentedArrays.Return(copy);
    }

    /// <summary>
    /// Pops several members with one effect. It chooses all of them and reserves memory for the effect before it removes the
    /// first one.
    /// </summary>
    private static void PopJournalled(ref CommandContext c, in Entry entry, long count)
    {
        var members = new ByteList();
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        long most = c.Lane.Effects.MostBytes;
        foreach (Element member in SetValue.Sample(entry, count))
        {
            ReadOnlySpan<byte> text = member.Text(digits);
            if (members.Bytes + (long)text.Length > most) break;
            members.Add(text);
        }
        long size = EffectBuffer.SizeOf(count + 2, "SREM"u8.Length + c.Args[1].Length + members.Bytes);
        if (members.Count < count) c.Fail(Errors.TooManyEffects);
        if (!c.Failed && c.ReserveEffects(size))
        {
            EffectBuffer? effect = c.ReplaceEffect(arguments: (int)count + 2);
            effect?.Add("SREM"u8);
            effect?.Add(c.Args[1]);
            c.Reply.SetHeader(count);
            int at = 0;
            while (members.TryNext(ref at, out ReadOnlySpan<byte> member))
            {
                c.Reply.Bulk(member);
                effect?.Add(member);
                SetValue.Remove(entry, member);
            }
        }
        members.Dispose();
    }

    // ---- reading

    private static void Contains(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.Set, write: false, out Entry entry))
            c.Reply.Integer(entry.Exists && SetValue.Contains(entry, c.Args[2]) ? 1 : 0);
    }

    private static void ContainsMany(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Set, write: false, out Entry entry)) return;
        c.Reply.ArrayHeader(c.Args.Count - 2);
        for (int i = 2; i < c.Args.Count; i++) c.Reply.Integer(entry.Exists && SetValue.Contains(entry, c.Args[i]) ? 1 : 0);
    }

    private static void Cardinality(ref CommandContext c)
    {
        if (c.TryFind(1, ValueType.Set, write: false, out Entry entry)) c.Reply.Integer(entry.Exists ? SetValue.Count(entry) : 0);
    }

    private static void Members(ref CommandContext c)
    {
        if (!c.TryFind(1, ValueType.Set, write: false, out Entry entry)) return;
        long count = entry.Exists ? SetValue.Count(entry) : 0;
        if (c.MoveToWorker(count)) return;
        c.Reply.SetHeader(count);
        if (count == 0) return;
        foreach (Element member in SetValue.Members(entry)) c.Reply.Element(member);
    }

    private static void RandomMembers(ref CommandContext c)
    {
        if (!RandomCount.TryBegin(ref c, ValueType.Set, default, out RandomCount wanted, out Entry entry)) return;
        if (!wanted.TryCount(ref c, SetValue.Count(entry), out long count)) return;
        if (wanted.Single)
        {
            c.Reply.Element(SetValue.Random(entry));
            return;
        }
        c.Reply.ArrayHeader(count);
        if (!wanted.Repeats)
        {
            foreach (Element member in SetValue.Sample(entry, count)) c.Reply.Element(member);
            return;
        }
        for (; count > 0 && !c.Reply.Overflowed; count--) c.Reply.Element(SetValue.Random(entry));
    }

    private static void Scan(ref CommandContext c)
    {
        if (!CollectionScan.TryCursor(ref c, out ulong cursor)) return;
        if (!c.TryFind(1, ValueType.Set, write: false, out Entry entry)) return;
        if (!CollectionScan.TryBegin(ref c, entry, noValues: false, out ScanFilter filter)) return;
        if (c.MoveToWorker(entry.Encoding == ValueEncoding.Large ? filter.Count : SetValue.Count(entry))) return;
        var page = new CollectionScan(ref c, filter);
        do
        {
            foreach (Element member in SetValue.Scan(entry, ref cursor))
                if (page.Takes(ref c, member)) c.Reply.Element(member);
        }
        while (!c.IsAbandoned && page.GoesOn(cursor));
        page.End(ref c, cursor, 1);
    }
}
