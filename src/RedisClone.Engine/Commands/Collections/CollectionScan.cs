using RedisClone.Engine.Commands.Generic;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Values;

namespace RedisClone.Engine.Commands.Collections;

/// <summary>One call of HSCAN, SSCAN or ZSCAN: its limits and its reply.</summary>
internal struct CollectionScan
{
    /// <summary>The number of cursor positions that a scan visits at most for each requested element, as in Redis.</summary>
    private const int PositionsPerElement = 10;

    private readonly ScanFilter _filter;
    private readonly DeferredReply _cursor, _elements;
    private long _steps;
    private long _taken;

    public CollectionScan(ref CommandContext c, in ScanFilter filter)
    {
        _filter = filter;
        _steps = filter.Count > long.MaxValue / PositionsPerElement ? long.MaxValue : filter.Count * PositionsPerElement;
        c.Reply.ArrayHeader(2);
        _cursor = c.Reply.BeginDeferred();
        _elements = c.Reply.BeginDeferred();
    }

    /// <summary>Parses the cursor at argument 2. As in Redis, this comes before the lookup of the key.</summary>
    public static bool TryCursor(ref CommandContext c, out ulong cursor) =>
        ScanCommands.TryCursor(c.Args[2], out cursor) || c.Fail("ERR invalid cursor");

    /// <summary>Parses the options. It returns false after an error, or after the reply for an absent key.</summary>
    public static bool TryBegin(ref CommandContext c, in Entry entry, bool noValues, out ScanFilter filter)
    {
        filter = default;
        if (entry.Exists)
        {
            filter = ScanFilter.Parse(ref c, 3, noValues: noValues);
            return !c.Failed;
        }
        c.Reply.ArrayHeader(2);
        c.Reply.BulkInteger(0);
        c.Reply.EmptyArray();
        return false;
    }

    /// <summary>Whether an element matches the pattern. It counts matches.</summary>
    public bool Takes(ref CommandContext c, scoped Element element)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        if (!_filter.Matches(c.Args, element.Text(digits))) return false;
        _taken++;
        return true;
    }

    /// <summary>Whether the scan continues at the next cursor position.</summary>
    public bool GoesOn(ulong cursor) => cursor != 0 && --_steps > 0 && _taken < _filter.Count;

    /// <summary>Ends the reply, in which each matching element has <paramref name="width"/> items.</summary>
    public readonly void End(ref CommandContext c, ulong cursor, int width)
    {
        c.Reply.EndArray(_elements, _taken * width);
        c.Reply.EndBulkNumber(_cursor, cursor);
    }
}
