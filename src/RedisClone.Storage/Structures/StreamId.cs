using System.Runtime.InteropServices;

namespace RedisClone.Storage.Structures;

/// <summary>
/// The identifier of a stream entry: a time in Unix milliseconds and a sequence number within it. Entries are in its order.
/// </summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
public readonly record struct StreamId(ulong Milliseconds, ulong Sequence) : IComparable<StreamId>
{
    public static StreamId Min => default;

    public static StreamId Max => new(ulong.MaxValue, ulong.MaxValue);

    /// <summary>The next greater identifier. Returns false, and the smallest identifier, for the greatest.</summary>
    public bool TryNext(out StreamId next)
    {
        bool exists = this != Max;                     // evaluated first, because next may alias this
        next = Sequence < ulong.MaxValue
            ? new StreamId(Milliseconds, Sequence + 1)
            : new StreamId(unchecked(Milliseconds + 1), 0);
        return exists;
    }

    /// <summary>The next smaller identifier. Returns false, and the greatest identifier, for the smallest.</summary>
    public bool TryPrevious(out StreamId previous)
    {
        bool exists = this != Min;
        previous = Sequence > 0
            ? new StreamId(Milliseconds, Sequence - 1)
            : new StreamId(unchecked(Milliseconds - 1), ulong.MaxValue);
        return exists;
    }

    public int CompareTo(StreamId other) =>
        Milliseconds != other.Milliseconds ? Milliseconds.CompareTo(other.Milliseconds) : Sequence.CompareTo(other.Sequence);

    public static bool operator <(StreamId a, StreamId b) =>
        a.Milliseconds < b.Milliseconds || a.Milliseconds == b.Milliseconds && a.Sequence < b.Sequence;

    public static bool operator >(StreamId a, StreamId b) => b < a;

    public static bool operator <=(StreamId a, StreamId b) => !(b < a);

    public static bool operator >=(StreamId a, StreamId b) => !(a < b);
}
