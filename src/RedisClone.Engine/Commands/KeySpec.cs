using System.Globalization;
using System.Text;
using RedisClone.Memory;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands;

/// <summary>One rule that finds keys among a command's arguments, in the terms of Redis's key specifications.</summary>
internal sealed record KeySpec(KeyFlags Flags)
{
    /// <summary>
    /// The beginning: an argument, or the argument after a keyword that is searched from StartFrom (negative: from the end).
    /// </summary>
    public int Index { get; init; }

    public string? Keyword { get; init; }

    public int StartFrom { get; init; }

    /// <summary>
    /// The range ends at Last, which is relative to the beginning; a negative Last counts from the end of the arguments. Every
    /// Step-th argument is a key. Limit is used as in XREAD: 2 selects the first half.
    /// </summary>
    public int Last { get; init; }

    public int Step { get; init; } = 1;

    public int Limit { get; init; }

    /// <summary>The argument at the beginning is the number of keys, which follow it at an offset.</summary>
    public bool Counted { get; init; }

    public int FirstKey { get; init; } = 1;

    /// <summary>
    /// The command has keys that no rule finds (BY and GET of SORT), so it needs another way to determine its shards.
    /// </summary>
    public bool IsUnknown { get; init; }

    /// <summary>Adds the positions of this rule's keys. Returns false if the arguments do not follow the rule.</summary>
    public bool Collect(in Request request, ref KeyPositions into)
    {
        if (IsUnknown) return true;
        int begin = Index;
        if (Keyword is not null && (begin = FindKeyword(request)) < 0) return true;
        int last;
        if (Counted)
        {
            if (begin >= request.Count || !RedisNumber.TryParseInt64(request[begin], out long count) || count < 0) return false;
            begin += FirstKey;
            if (count > request.Count - begin) return false;
            last = begin + ((int)count - 1) * Step;
        }
        else
        {
            last = Last >= 0 ? begin + Last : request.Count + Last;
            if (Limit > 1) last = begin + (request.Count - begin) / Limit - 1;
        }
        if (begin >= request.Count) return true;
        for (int i = begin; i <= last && i < request.Count; i += Step) into.Add(i, Flags);
        return true;
    }

    private int FindKeyword(in Request request)
    {
        if (StartFrom < 0)
        {
            for (int i = request.Count + StartFrom; i > 0; i--)
                if (Ascii.EqualsIgnoreCase(request[i], Keyword)) return i + 1;
            return -1;
        }
        for (int i = StartFrom; i < request.Count; i++)
            if (Ascii.EqualsIgnoreCase(request[i], Keyword)) return i + 1;
        return -1;
    }
}

/// <summary>Builds the key rules of the command table's rows.</summary>
internal static class Keys
{
    public static readonly KeySpec[] None = [];

    public static KeySpec[] At(int index, KeyFlags flags = KeyFlags.None) => [new KeySpec(flags) { Index = index }];

    /// <summary>From first to last; a negative last counts from the end.</summary>
    public static KeySpec[] Range(int first, int last, int step = 1, KeyFlags flags = KeyFlags.None) =>
        [new KeySpec(flags) { Index = first, Last = last < 0 ? last : last - first, Step = step }];

    /// <summary>The argument at the index is the number of the keys that follow it.</summary>
    public static KeySpec[] Counted(int index, KeyFlags flags = KeyFlags.None) => [new KeySpec(flags) { Index = index, Counted = true }];

    /// <summary>The argument after a keyword is a key.</summary>
    public static KeySpec[] After(string keyword, int startFrom, KeyFlags flags = KeyFlags.None) =>
        [new KeySpec(flags) { Keyword = keyword, StartFrom = startFrom }];

    /// <summary>Keys that no rule finds, in addition to those of the other rules.</summary>
    public static KeySpec Unknown(KeyFlags flags) => new(flags | KeyFlags.Incomplete) { IsUnknown = true };

    public static KeySpec[] And(this KeySpec[] first, params KeySpec[] more) => [.. first, .. more];
}

/// <summary>Positions of keys in a request, on the caller's stack if they fit.</summary>
internal ref struct KeyPositions(Span<int> room)
{
    private Span<int> _room = room;
    private int[]? _rented;

    public int Count { get; private set; }

    public readonly int this[int index] => _room[2 * index];

    public readonly KeyFlags FlagsOf(int index) => (KeyFlags)_room[2 * index + 1];

    public void Add(int position, KeyFlags flags)
    {
        if (2 * Count == _room.Length) Grow();
        _room[2 * Count] = position;
        _room[2 * Count + 1] = (int)flags;
        Count++;
    }

    public void Dispose()
    {
        if (_rented is not null) RentedArrays.Return(_rented);
        _rented = null;
    }

    public override readonly string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Count} keys");

    private void Grow()
    {
        int[] larger = RentedArrays.Rent<int>(Math.Max(64, _room.Length * 2));
        _room.CopyTo(larger);
        if (_rented is not null) RentedArrays.Return(_rented);
        _room = _rented = larger;
    }
}
