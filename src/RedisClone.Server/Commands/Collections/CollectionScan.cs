using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>One call of HSCAN, SSCAN or ZSCAN: how far it goes, and its reply.</summary>
internal struct CollectionScan
{
    /// <summary>Redis's own bound: ten cursor positions looked at for every element wanted.</summary>
    private const int PositionsPerElement = 10;

    private readonly ScanFilter _filter;
    private readonly DeferredReply _cursor, _elements;
    private long _steps;
    private long _taken;

    /// <summary>Begins the reply.</summary>
    public CollectionScan(ref CommandContext c, in ScanFilter filter)
    {
        _filter = filter;
        _steps = filter.Count > long.MaxValue / PositionsPerElement ? long.MaxValue : filter.Count * PositionsPerElement;
        c.Reply.ArrayHeader(2);
        _cursor = c.Reply.BeginDeferred();
        _elements = c.Reply.BeginDeferred();
    }

    /// <summary>Reads the cursor at argument 2: before the key is looked up, as Redis does.</summary>
    public static bool TryCursor(ref CommandContext c, out ulong cursor) =>
        ScanCommands.TryCursor(c.Args[2], out cursor) || c.Fail("ERR invalid cursor");

    /// <summary>Reads the options; false where the reply is an error or that of an absent key.</summary>
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

    /// <summary>Whether an element is to be returned.</summary>
    public bool Takes(ref CommandContext c, scoped Element element)
    {
        Span<byte> digits = stackalloc byte[IntegerText.MaxLength];
        if (!_filter.Matches(c.Args, element.Text(digits))) return false;
        _taken++;
        return true;
    }

    /// <summary>Whether to look at the next cursor position too.</summary>
    public bool GoesOn(ulong cursor) => cursor != 0 && --_steps > 0 && _taken < _filter.Count;

    /// <summary>Ends the reply; each element taken was written as so many.</summary>
    public readonly void End(ref CommandContext c, ulong cursor, int width)
    {
        c.Reply.EndArray(_elements, _taken * width);
        c.Reply.EndBulkNumber(_cursor, cursor);
    }
}
