using System.Text;
using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Engine.Commands.Collections;

/// <summary>An end of a collection: its name in arguments, and the command that pops from it.</summary>
internal sealed record PopEnd(string Word, byte[] Command);

internal delegate long ElementCount(in Entry entry);

/// <summary>
/// Replies with elements at one end and removes them. With <paramref name="nested"/>, each element that has several parts is
/// an array.
/// </summary>
internal delegate void PopTaker(ref CommandContext c, in Entry entry, int keyArgument, PopEnd end, long count, bool nested);

/// <summary>A type with elements that can be popped at both ends: lists and sorted sets.</summary>
/// <param name="Type">The type.</param>
/// <param name="First">The first end.</param>
/// <param name="Last">The last end.</param>
/// <param name="Parts">The number of reply items for one element.</param>
/// <param name="Count">Returns the number of elements.</param>
/// <param name="Take">Pops elements.</param>
internal sealed record PopKind(ValueType Type, PopEnd First, PopEnd Last, int Parts, ElementCount Count, PopTaker Take)
{
    public bool TryEnd(ref CommandContext c, int argument, out PopEnd end)
    {
        end = Ascii.EqualsIgnoreCase(c.Args[argument], First.Word) ? First : Last;
        return end == First || Ascii.EqualsIgnoreCase(c.Args[argument], Last.Word) || c.FailSyntax();
    }
}

/// <summary>
/// Pops elements from the first key that has any, and can block until there are some: BLPOP, LMPOP, BZPOPMIN, ZMPOP and
/// similar commands.
/// </summary>
internal static class FirstPops
{
    public const string NotPositive = "ERR count should be greater than 0";

    /// <summary>Pops one element. The arguments are the keys and a timeout.</summary>
    public static void One(ref CommandContext c, PopKind kind, PopEnd end)
    {
        int keys = c.Args.Count - 2;
        if (!TryTimeout(ref c, c.Args.Count - 1, out long milliseconds) || !TryFirst(ref c, kind.Type, 1, keys, out int found)) return;
        if (found == 0)
        {
            Wait(ref c, kind, milliseconds, 1, keys);
            return;
        }
        Entry entry = c.FindForWrite(found);
        c.Reply.ArrayHeader(1 + kind.Parts);
        c.Reply.Bulk(c.Args[found]);
        if (c.ReplaceEffect(arguments: 2) is { } effect)
        {
            effect.Add(end.Command);
            effect.Add(c.Args[found]);
        }
        kind.Take(ref c, entry, found, end, 1, nested: false);
    }

    /// <summary>Pops several elements. The arguments are the number of keys, the keys, the end and COUNT.</summary>
    /// <param name="c">The command.</param>
    /// <param name="kind">The type of the values.</param>
    /// <param name="at">The index of the number of keys.</param>
    /// <param name="waits">Whether the command blocks. The timeout is the argument before the number of keys.</param>
    public static void Many(ref CommandContext c, PopKind kind, int at, bool waits)
    {
        long keys = c.Int64(at, 1, long.MaxValue, "ERR numkeys should be greater than 0");
        if (c.Failed) return;
        if (keys >= c.Args.Count - at - 1)
        {
            c.FailSyntax();
            return;
        }
        int where = at + (int)keys + 1;
        long count = 1;
        if (!kind.TryEnd(ref c, where, out PopEnd end)) return;
        for (int i = where + 1; i < c.Args.Count; i++)
        {
            if (i == where + 1 && c.Is(i, "COUNT"u8) && i + 1 < c.Args.Count) count = c.Int64(++i, 1, long.MaxValue, NotPositive);
            else c.FailSyntax();
            if (c.Failed) return;
        }
        long milliseconds = -1;
        if (waits && !TryTimeout(ref c, 1, out milliseconds)) return;
        if (!TryFirst(ref c, kind.Type, at + 1, (int)keys, out int found)) return;
        if (found == 0)
        {
            Wait(ref c, kind, milliseconds, at + 1, (int)keys);
            return;
        }
        Entry entry = c.FindForWrite(found);
        count = Math.Min(count, kind.Count(entry));
        if (c.MoveToWorker(count)) return;
        c.Reply.ArrayHeader(2);
        c.Reply.Bulk(c.Args[found]);
        c.Reply.ArrayHeader(count);
        if (c.ReplaceEffect(arguments: 3) is { } effect)
        {
            effect.Add(end.Command);
            effect.Add(c.Args[found]);
            effect.Add(count);
        }
        kind.Take(ref c, entry, found, end, count, nested: true);
    }

    /// <summary>
    /// Converts a timeout in seconds, which may have a fraction, to milliseconds. A timeout of 0 never ends.
    /// </summary>
    public static bool TryTimeout(ref CommandContext c, int argument, out long milliseconds)
    {
        milliseconds = 0;
        if (!RedisNumber.TryParseDouble(c.Args[argument], out double seconds)) return c.Fail("ERR timeout is not a float or out of range");
        if (seconds < 0) return c.Fail("ERR timeout is negative");
        if (seconds * 1000 > long.MaxValue - c.Now) return c.Fail("ERR timeout is out of range");
        milliseconds = (long)Math.Ceiling(seconds * 1000);
        return true;
    }

    private static void Wait(ref CommandContext c, PopKind kind, long milliseconds, int first, int count)
    {
        if (milliseconds >= 0 && c.CanBlock) c.Block(milliseconds, kind.Type, first, count, nullIsArray: true);
        else c.Reply.NullArray();
    }

    /// <summary>
    /// Finds the first argument with a key of the type; 0 if there is none. It returns false if an earlier key has a
    /// different type.
    /// </summary>
    private static bool TryFirst(ref CommandContext c, ValueType type, int first, int count, out int found)
    {
        found = 0;
        for (int i = first; i < first + count; i++)
        {
            if (!c.TryFind(i, type, write: true, out Entry entry)) return false;
            if (!entry.Exists) continue;
            found = i;
            break;
        }
        return true;
    }
}
