using System.Buffers;
using System.Buffers.Text;
using System.Runtime.CompilerServices;

namespace RedisClone.Journal.Writing;

/// <summary>A part of the stream that is written as one group, taken out of the <see cref="MergeBuffer"/>.</summary>
/// <param name="First">Its segments.</param>
/// <param name="Lsn">Where in the stream it begins.</param>
/// <param name="Length">Its bytes.</param>
/// <param name="EndsIncrement">The increment ends behind it; then it may be empty.</param>
/// <param name="Units">How many units.</param>
internal readonly record struct PendingGroup(Segment? First, long Lsn, long Length, int Units, bool EndsIncrement)
{
    public long End => Lsn + Length;
}

/// <summary>
/// Where the effects of all shards meet: the one place that gives out positions in the global stream. An append is a copy of
/// some hundred bytes under a spin lock. Measured against reserving with compare-and-swap and counting commits, and against
/// a <see cref="Lock"/>, the spin lock was the cheapest with one thread (10 to 20 ns) and with two.
/// </summary>
/// <remarks>
/// The lock is held for a copy, never for I/O or a callback. A unit larger than a segment is copied under it too.
/// </remarks>
internal sealed class MergeBuffer(WriterTuning tuning)
{
    private const int Unselected = -1;

    private readonly SegmentPool _pool = new(tuning.SegmentSize);
    private readonly Queue<PendingGroup> _closed = new();
    private int _gate;
    private long _lsn;
    private long _activeLsn;
    private int _database = Unselected;
    private Segment? _first;
    private Segment? _last;
    private bool _discarding = true;
    private int _closedCount;
    private int _units;

    /// <summary>The end of the stream.</summary>
    public long Lsn => Volatile.Read(ref _lsn);

    /// <summary>Whether there is something to write. A switch counts as something.</summary>
    public bool HasPending => Volatile.Read(ref _lsn) != Volatile.Read(ref _activeLsn) || Volatile.Read(ref _closedCount) != 0;

    /// <summary>How many units the group that is open now has; a glance, for choosing who writes.</summary>
    public int OpenUnits => Volatile.Read(ref _units);

    /// <summary>
    /// Appends one unit, and returns the position behind it. The caller holds the shards that the unit concerns, so that
    /// positions agree with each shard's own order.
    /// </summary>
    public long Append(int database, ReadOnlySpan<byte> unit)
    {
        Enter();
        if (!_discarding)
        {
            if (_lsn - _activeLsn >= tuning.MaxGroup) Close(endsIncrement: false);
            if (database != _database) Select(database);
            Copy(unit);
            _units++;
        }
        long end = _lsn += unit.Length;
        if (_discarding) _activeLsn = end;
        Exit();
        return end;
    }

    /// <inheritdoc cref="Append(int, ReadOnlySpan{byte})"/>
    public long Append(int database, in ReadOnlySequence<byte> unit)
    {
        Enter();
        if (!_discarding)
        {
            if (_lsn - _activeLsn >= tuning.MaxGroup) Close(endsIncrement: false);
            if (database != _database) Select(database);
            foreach (ReadOnlyMemory<byte> part in unit) Copy(part.Span);
            _units++;
        }
        long end = _lsn += unit.Length;
        if (_discarding) _activeLsn = end;
        Exit();
        return end;
    }

    /// <summary>Ends the increment here: what is appended from now on belongs to the next one.</summary>
    public long Switch()
    {
        Enter();
        Close(endsIncrement: true);

        // Each file selects its own database: a loader begins each with 0.
        _database = Unselected;
        long end = _lsn;
        Exit();
        return end;
    }

    /// <summary>
    /// Takes the oldest group: everything that came together since the last was taken. Without <paramref
    /// name="mayEndIncrement"/> a group that ends the increment stays for somebody who may open the next.
    /// </summary>
    public bool TryTake(bool mayEndIncrement, out PendingGroup group)
    {
        Enter();
        if (_closed.Count == 0 && _lsn != _activeLsn) Close(endsIncrement: false);
        bool taken = _closed.TryPeek(out group) && (mayEndIncrement || !group.EndsIncrement);
        if (taken) _closed.Dequeue();
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

    /// <summary>From now on units are given positions, but not kept; what is pending is dropped.</summary>
    public void Discard()
    {
        Enter();
        _discarding = true;
        Close(endsIncrement: false);
        while (_closed.TryDequeue(out PendingGroup group)) _pool.Return(group.First);
        Volatile.Write(ref _closedCount, 0);
        Exit();
    }

    /// <summary>Keeps units again, from the position returned, which is not before <paramref name="atLeast"/>.</summary>
    public long Resume(long atLeast)
    {
        Enter();
        _discarding = false;
        _activeLsn = _lsn = Math.Max(_lsn, atLeast);
        _database = Unselected;
        long start = _lsn;
        Exit();
        return start;
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
    /// Lower case on purpose: Redis writes SELECT, and so the reader can tell where Redis went on in a file of ours.
    /// </summary>
    private void Select(int database)
    {
        _database = database;
        if (database < 0) return;
        Span<byte> command = stackalloc byte[40];
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
        Copy(command[..length]);
        _lsn += length;
    }

    private void Copy(ReadOnlySpan<byte> bytes)
    {
        Segment? last = _last;
        if (last is not null && bytes.Length <= last.Free)
        {
            last.Append(bytes);
            return;
        }
        CopyInParts(bytes);
    }

    private void CopyInParts(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            if (_last is null || _last.Free == 0)
            {
                Segment added = _pool.Rent();
                if (_last is null) _first = added;
                else _last.Next = added;
                _last = added;
            }
            int part = Math.Min(_last.Free, bytes.Length);
            _last.Append(bytes[..part]);
            bytes = bytes[part..];
        }
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
