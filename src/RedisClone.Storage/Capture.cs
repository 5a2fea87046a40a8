using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;

namespace RedisClone.Storage;

/// <summary>A position within a captured value. All zero is the beginning.</summary>
public struct CapturePlace
{
    public bool Begun;
    public ulong Cursor;

    /// <summary>The second part of the cursor if the cursor is an identifier of a stream entry.</summary>
    public ulong Sequence;

    /// <summary>The elements at the cursor that are already taken. Those at one position of a table may be large.</summary>
    public int Taken;

    /// <summary>Moves the cursor after all elements at its position are taken.</summary>
    public void MoveTo(ulong cursor) => (Cursor, Taken) = (cursor, 0);
}

/// <summary>Receives the records of a store as they were when the capture began. Called under the hold of the shard.</summary>
public interface ICaptureSink
{
    /// <summary>Takes a whole record, whatever its size.</summary>
    void Take(int database, in Entry entry);

    /// <summary>
    /// Takes a part of a large record. The record does not change before its last part is taken. Returns true after the last
    /// part.
    /// </summary>
    bool TakePart(int database, in Entry entry, ref CapturePlace place);
}

/// <summary>
/// A snapshot capture: the state of a store at one moment, passed to a sink in slices while the store continues to serve
/// commands. Every record has an epoch bit, which says whether the record is captured. A record that is about to change or to be
/// removed is captured first; a walk over the keyspaces captures the rest. A database that is emptied during the capture is freed
/// after the walk.
/// </summary>
/// <remarks>
/// A record that is inserted during the capture counts as captured. The index can grow and shrink during the walk, so the walk
/// can meet a record twice; the epoch bit ensures that it is captured once. Large values are captured in parts, one value at a
/// time. A change that cannot wait captures the rest of the value at once.
/// </remarks>
public sealed class Capture
{
    /// <summary>A value with more bytes is captured in parts.</summary>
    private const long LargeBytes = 1 << 20;

    /// <summary>
    /// Records are scattered over memory. The headers of the records of several positions are prefetched together, and the rest
    /// of each record a few records ahead.
    /// </summary>
    private const int PositionsAtOnce = 8, Ahead = 4;

    private readonly ShardStore _store;
    private readonly ICaptureSink _sink;
    private readonly Queue<Keyspace> _keyspaces = new();
    private readonly Stack<Located> _large = new();
    private readonly List<uint> _met = [];
    private ulong _cursor;
    private bool _scanned;
    private Located _part;
    private CapturePlace _place;

    internal Capture(ShardStore store, ICaptureSink sink)
    {
        _store = store;
        _sink = sink;
        for (int database = 0; database < store.DatabaseCount; database++)
        {
            FaultPoint.Allocation();
            if (store.ExistingDatabase(database) is { Count: > 0 } keyspace) _keyspaces.Enqueue(keyspace);
        }
        for (int database = 0; database < store.DatabaseCount; database++)
            if (store.ExistingDatabase(database) is { Count: > 0 } keyspace) keyspace.CapturedAs = database;
    }

    /// <summary>A large value is captured in part. It must be completed before the capture of another one begins.</summary>
    public bool IsWithinValue => _place.Begun;

    public bool IsOver { get; private set; }

    /// <summary>
    /// Captures about <paramref name="records"/> records, or one part of a large value. Returns true when nothing is left.
    /// </summary>
    public bool Step(int records)
    {
        while (records > 0 && !IsOver)
        {
            if (_place.Begun || _large.Count > 0)
            {
                if (TakePart()) return false;
                continue;
            }
            if (!_keyspaces.TryPeek(out Keyspace? keyspace))
            {
                End();
                break;
            }
            if (_scanned || keyspace.Count == 0)
            {
                Leave(keyspace);
                continue;
            }
            records -= TakeSome(keyspace);
        }
        return IsOver;
    }

    /// <summary>Captures the records of a few positions. Returns the number of positions and records.</summary>
    private int TakeSome(Keyspace keyspace)
    {
        ulong from = _cursor;
        try
        {
            return TakePositions(keyspace);
        }
        catch
        {
            // The positions are walked again. The epoch bits say which of their records are captured already.
            _met.Clear();
            (_cursor, _scanned) = (from, false);
            throw;
        }
    }

    private int TakePositions(Keyspace keyspace)
    {
        keyspace.PrefetchPositions(_cursor, PositionsAtOnce);
        var walk = new Walk(keyspace, _met);
        int positions = 0;
        for (; positions < PositionsAtOnce && !_scanned; positions++)
        {
            _cursor = keyspace.Scan(_cursor, ref walk);
            _scanned = _cursor == 0;
        }
        for (int i = 0; i < _met.Count; i++)
        {
            if (i + Ahead < _met.Count) keyspace.PrefetchRest(_met[i + Ahead]);
            TakeMet(keyspace, _met[i]);
        }
        positions += _met.Count;
        _met.Clear();
        return positions;
    }

    private void TakeMet(Keyspace keyspace, uint handle)
    {
        if (!IsLeft(keyspace, keyspace.RecordOf(handle))) return;
        Entry entry = keyspace.Locate(_store.HashOf(keyspace.KeyOf(handle)), handle);
        if (IsLarge(entry)) _large.Push(new Located(keyspace, entry.Hash, handle));
        else BeforeChange(entry);
    }

    /// <summary>
    /// Whether a change of this value now would have to capture a large value at once. Also makes the capture take this value
    /// next. A caller that can wait asks this before the change.
    /// </summary>
    public bool IsLargeAndLeft(in Entry entry)
    {
        if (!IsLeft(entry.Keyspace, entry.Record) || !IsLarge(entry)) return false;
        var wanted = new Located(entry.Keyspace, entry.Hash, entry.Handle);
        // The caller asks again until it may go on.
        bool isNext = _place.Begun && _part == wanted || _large.TryPeek(out Located next) && next == wanted;
        if (!isNext) _large.Push(wanted);
        return true;
    }

    /// <summary>Captures a record that is about to change or to be removed, if it is not captured yet.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal void BeforeChange(in Entry entry)
    {
        Record record = entry.Record;
        if (!IsLeft(entry.Keyspace, record)) return;
        if (_place.Begun && _part.Handle == entry.Handle && _part.Keyspace == entry.Keyspace)
        {
            while (!_sink.TakePart(entry.Keyspace.CapturedAs, entry, ref _place))
            {
            }
            _place = default;
        }
        else
        {
            _sink.Take(entry.Keyspace.CapturedAs, entry);
        }
        record.Epoch = _store.Epoch;
    }

    /// <summary>
    /// Takes over an emptied database that is not completely walked yet. Returns false if the capture does not need it. The
    /// database is freed after the walk.
    /// </summary>
    internal bool Adopt(Keyspace keyspace)
    {
        if (!_keyspaces.Contains(keyspace)) return false;
        keyspace.IsAbandoned = true;
        return true;
    }

    private static bool IsLarge(in Entry entry) =>
        (entry.Encoding == ValueEncoding.Large ? ValueInfo.MemoryUsage(entry) : entry.Value.Length) > LargeBytes;

    private bool IsLeft(Keyspace keyspace, Record record) => keyspace.CapturedAs >= 0 && record.Epoch != _store.Epoch;

    /// <summary>Captures one part of the current value, or of the next one. Returns false if there is none.</summary>
    private bool TakePart()
    {
        while (!_place.Begun)
        {
            if (!_large.TryPeek(out _part)) return false;
            Entry next = _part.Keyspace.Locate(_part.Hash, _part.Handle);
            // The record may have been captured or removed since, and another record may have its handle.
            if (next.Exists && IsLeft(_part.Keyspace, next.Record)) break;
            _large.Pop();
        }
        Entry entry = _part.Keyspace.Locate(_part.Hash, _part.Handle);
        CapturePlace place = _place;
        bool isLast = _sink.TakePart(_part.Keyspace.CapturedAs, entry, ref place);
        // The state changes only after the call: a sink that throws receives the same part again.
        if (!_place.Begun) _large.Pop();
        _place = place;
        if (!isLast)
        {
            _place.Begun = true;
            return true;
        }
        Record record = entry.Record;
        record.Epoch = _store.Epoch;
        _place = default;
        return true;
    }

    private void Leave(Keyspace keyspace)
    {
        keyspace.CapturedAs = -1;
        _keyspaces.Dequeue();
        (_cursor, _scanned) = (0, false);
        if (keyspace.IsAbandoned) _store.FreeLater(keyspace);
    }

    private void End()
    {
        IsOver = true;
        _store.EndCapture(this);
    }

    private readonly record struct Located(Keyspace Keyspace, ulong Hash, uint Handle);

    private readonly struct Walk(Keyspace keyspace, List<uint> met) : IScanVisitor
    {
        public void Visit(uint handle)
        {
            keyspace.PrefetchHeader(handle);
            FaultPoint.Allocation();
            met.Add(handle);
        }
    }
}
