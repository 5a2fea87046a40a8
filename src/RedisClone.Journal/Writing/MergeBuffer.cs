using System.Buffers;
using System.Buffers.Text;
using System.Runtime.CompilerServices;

namespace RedisClone.Journal.Writing;

/// <summary>A part of the stream that is written as one group, taken from the <see cref="MergeBuffer"/>.</summary>
/// <param name="First">The first of its segments.</param>
/// <param name="Lsn">The stream position of its start.</param>
/// <param name="Length">Its length in bytes.</param>
/// <param name="Units">The number of units.</param>
/// <param name="EndsIncrement">True if the increment ends after the group. Such a group may be empty.</param>
internal readonly record struct PendingGroup(Segment? First, long Lsn, long Length, int Units, bool EndsIncrement)
{
    public long End => Lsn + Length;
}

/// <summary>
/// Collects the effects of all shards and assigns their positions in the global stream. An append copies some hundred
/// bytes under a spin lock. In measurements against reservation by compare-and-swap with a count of commits, and
/// against a <see cref="Lock"/>, the spin lock was the cheapest with one thread (10 to 20 ns) and with two.
/// </summary>
/// <remarks>
/// The lock is held for a copy, never for I/O or a callback. A unit that is larger than a segment is also copied under
/// the lock.
/// </remarks>
internal sealed class MergeBuffer(WriterTuning tuning)
{
    private const int Unselected = -1;
    private const int LongestSelect = 40;

    private readonly SegmentPool _pool = new(tuning.SegmentSize, tuning.KeptSegments);
    private readonly Queue<PendingGroup> _closed = new();
    private int _gate;
    private long _lsn;
    private long _activeLsn;
    private int _database = Unselected;
    private Segment? _first;
    private Segment? _last;
    private Segment? _spare;                    // reserved, not used yet
    private bool _discarding = true;
    private int _closedCount;
    private int _units;
    private bool _isSwitching;

    public long Lsn => Volatile.Read(ref _lsn);

    /// <summary>True if there is something to write. A switch of the increment counts.</summary>
    public bool HasPending => Volatile.Read(ref _lsn) != Volatile.Read(ref _activeLsn) || Volatile.Read(ref _closedCount) != 0;

    /// <summary>True from the end of an increment until its last group is taken.</summary>
    public bool IsSwitching => Volatile.Read(ref _isSwitching);

    /// <summary>
    /// The number of units in the open group. The value is read without the lock, and only chooses the thread that
    /// writes.
    /// </summary>
    public int OpenUnits => Volatile.Read(ref _units);

    /// <summary>
    /// Appends one unit and returns the position after it. The caller holds the shards of the unit, so that positions
    /// agree with the order within each shard. If the call throws for lack of memory, nothing of the unit is appended.
    /// </summary>
    public long Append(int database, ReadOnlySpan<byte> unit)
    {
        Enter();
        Segment? last = _last;
        bool fits = !_discarding && last is not null && unit.Length <= last.Free;
        if (!fits || database != _database || _lsn - _activeLsn >= tuning.MaxGroup)
        {
            if (PrepareOrExit(database, unit.Length)) CopyInParts(unit);
        }
        else
        {
            last!.Append(unit);
            _units++;
        }
        return ExitBehind(unit.Length);
    }

    /// <summary>
    /// Appends one unit without copying it. Its array must not change any more.
    /// </summary>
    /// <inheritdoc cref="Append(int, ReadOnlySpan{byte})"/>
    public long AppendGiven(int database, ArraySegment<byte> unit)
    {
        var given = new Segment(unit);
        Enter();
        if (PrepareOrExit(database, bytes: 0))
        {
            // The first segment of a group has room for the header of the group.
            if (_last is null) AddSpare();
            _last!.Next = given;
            _last = given;
        }
        return ExitBehind(unit.Count);
    }

    /// <inheritdoc cref="Append(int, ReadOnlySpan{byte})"/>
    public long Append(int database, in ReadOnlySequence<byte> unit)
    {
        Enter();
        if (PrepareOrExit(database, unit.Length))
            foreach (ReadOnlyMemory<byte> part in unit) CopyInParts(part.Span);
        return ExitBehind(unit.Length);
    }

    /// <summary>Ends the increment. Units appended after this call belong to the next increment.</summary>
    public long Switch()
    {
        Enter();
        // A write may have failed meanwhile. What is not kept has no end either: a later rebuild would take it for the end of its own increment.
        if (_discarding)
        {
            long discarded = _lsn;
            Exit();
            return discarded;
        }
        ReserveOrExit(bytes: 0);
        Close(endsIncrement: true);
        Volatile.Write(ref _isSwitching, true);

        // A loader begins each file with database 0, so each file selects its own database.
        _database = Unselected;
        long end = _lsn;
        Exit();
        return end;
    }

    /// <summary>
    /// Takes the oldest group: everything appended since the previous take. Without <paramref name="mayEndIncrement"/>
    /// a group that ends the increment remains for a caller that may open the next increment.
    /// </summary>
    public bool TryTake(bool mayEndIncrement, out PendingGroup group)
    {
        Enter();
        if (_closed.Count == 0 && _lsn != _activeLsn)
        {
            ReserveOrExit(bytes: 0);
            Close(endsIncrement: false);
        }
        bool taken = _closed.TryPeek(out group) && (mayEndIncrement || !group.EndsIncrement);
        if (taken) _closed.Dequeue();
        if (taken && group.EndsIncrement) Volatile.Write(ref _isSwitching, false);
        Volatile.Write(ref _closedCount, _closed.Count);
        Exit();
        return taken;
    }

    public void Return(in PendingGroup group)
    {
        Enter();
        _pool.Return(group.First);
        Exit();
    }

    /// <summary>Discards pending units. Later units receive positions but are not kept.</summary>
    public void Discard()
    {
        Enter();
        _discarding = true;
        _pool.Return(_first);
        _first = _last = null;
        _activeLsn = _lsn;
        _units = 0;
        while (_closed.TryDequeue(out PendingGroup group)) _pool.Return(group.First);
        Volatile.Write(ref _isSwitching, false);
        Volatile.Write(ref _closedCount, 0);
        Exit();
    }

    /// <summary>
    /// Keeps units again, starting at the returned position, which is not before <paramref name="atLeast"/>.
    /// </summary>
    public long Resume(long atLeast)
    {
        Segment? first = FirstSegments();
        Enter();
        _pool.Return(first);
        _discarding = false;
        _activeLsn = _lsn = Math.Max(_lsn, atLeast);
        _database = Unselected;
        long start = _lsn;
        Exit();
        return start;
    }

    private Segment? FirstSegments()
    {
        Segment? chain = null;
        try
        {
            for (int i = 0; i < tuning.FirstSegments; i++) chain = new Segment(tuning.SegmentSize) { Next = chain };
        }
        catch (OutOfMemoryException)
        {
            // Segments are allocated when they are needed.
        }
        return chain;
    }

    /// <summary>
    /// Prepares for a unit of <paramref name="bytes"/> bytes: closes a full group and selects the database. Returns
    /// false if units are not kept.
    /// </summary>
    private bool PrepareOrExit(int database, long bytes)
    {
        if (_discarding) return false;
        bool isFull = _lsn - _activeLsn >= tuning.MaxGroup;
        ReserveOrExit(bytes + LongestSelect - (isFull || _last is null ? 0 : _last.Free));
        if (isFull) Close(endsIncrement: false);
        if (database != _database) Select(database);
        _units++;
        return true;
    }

    private long ExitBehind(long bytes)
    {
        long end = _lsn += bytes;
        if (_discarding) _activeLsn = end;
        Exit();
        return end;
    }

    /// <summary>
    /// Allocates all memory that an operation needs before anything changes: a place for one more group, and segments
    /// for <paramref name="bytes"/> bytes. If it throws, the lock is released and the stream is unchanged.
    /// </summary>
    private void ReserveOrExit(long bytes)
    {
        try
        {
            _closed.EnsureCapacity(_closed.Count + 1);
            for (Segment? spare = _spare; spare is not null; spare = spare.Next) bytes -= tuning.SegmentSize;
            for (; bytes > 0; bytes -= tuning.SegmentSize)
            {
                Segment added = _pool.Rent();
                (added.Next, _spare) = (_spare, added);
            }
        }
        catch
        {
            _pool.Return(_spare);
            _spare = null;
            Exit();
            throw;
        }
    }

    private void Close(bool endsIncrement)
    {
        if (_lsn == _activeLsn && !endsIncrement) return;
        _closed.Enqueue(new(_first, _activeLsn, _first is null ? 0 : _lsn - _activeLsn, _units, endsIncrement));
        Volatile.Write(ref _closedCount, _closed.Count);
        _first = _last = null;
        _activeLsn = _lsn;
        _units = 0;
    }

    /// <summary>
    /// Appends a SELECT command in lower case. Redis writes SELECT in upper case, so recovery can tell where Redis
    /// continued a file of this server.
    /// </summary>
    private void Select(int database)
    {
        _database = database;
        if (database < 0) return;
        Span<byte> command = stackalloc byte[LongestSelect];
        Span<byte> digits = stackalloc byte[11];
        Utf8Formatter.TryFormat(database, digits, out int count);
        "*2\r\n$6\r\nselect\r\n$"u8.CopyTo(command);
        int length = 17;
        Utf8Formatter.TryFormat(count, command[length..], out int written);
        length += written;
        "\r\n"u8.CopyTo(command[length..]);
        length += 2;
        digits[..count].CopyTo(command[length..]);
        length += count;
        "\r\n"u8.CopyTo(command[length..]);
        length += 2;
        CopyInParts(command[..length]);
        _lsn += length;
    }

    /// <summary>Copies into segments that <see cref="ReserveOrExit"/> has reserved.</summary>
    private void CopyInParts(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            if (_last is null || _last.Free == 0) AddSpare();
            int part = Math.Min(_last!.Free, bytes.Length);
            _last.Append(bytes[..part]);
            bytes = bytes[part..];
        }
    }

    private void AddSpare()
    {
        Segment added = _spare!;
        (_spare, added.Next) = (added.Next, null);
        if (_last is null) _first = added;
        else _last.Next = added;
        _last = added;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Enter()
    {
        if (Interlocked.CompareExchange(ref _gate, 1, 0) != 0) EnterSlowly();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void EnterSlowly()
    {
        var spin = new SpinWait();
        do spin.SpinOnce(sleep1Threshold: -1);
        while (Volatile.Read(ref _gate) != 0 || Interlocked.CompareExchange(ref _gate, 1, 0) != 0);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Exit() => Volatile.Write(ref _gate, 0);
}
