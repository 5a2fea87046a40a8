using System.Runtime.CompilerServices;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage;

/// <summary>Where a captured value goes on; all zero is its beginning.</summary>
public struct CapturePlace
{
    public bool Begun;
    public ulong Cursor;

    /// <summary>Behind the cursor, where that is an identifier of a stream.</summary>
    public ulong Sequence;
}

/// <summary>Receives the records of a store as they were when the capture began. Called under the shard's hold.</summary>
public interface ICaptureSink
{
    /// <summary>A record as a whole, whatever its size.</summary>
    void Take(int database, in Entry entry);

    /// <summary>A part of a large one, which does not change before its last part was taken; true when that was it.</summary>
    bool TakePart(int database, in Entry entry, ref CapturePlace place);
}

/// <summary>
/// One moment of a store, handed out in slices while the store goes on. Every record has a bit that is turned when it was taken: what is about to be
/// changed or removed and was not taken yet is taken first, the rest when the walk comes by. Databases that are abandoned meanwhile are freed once
/// they were walked.
/// </summary>
/// <remarks>
/// A record that is inserted has the new bit at once. The walk may meet a record twice, since the index grows and shrinks under it, but takes it once.
/// Large values are taken in parts, one value at a time; whoever must change one right now makes it be taken as a whole.
/// </remarks>
public sealed class Capture
{
    /// <summary>A value of more bytes is taken in parts.</summary>
    private const long LargeBytes = 1 << 20;

    /// <summary>Records lie anywhere in memory: those of so many positions of the index are asked for together, and the rest of each shortly before it is taken.</summary>
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

    /// <summary>A large value has begun and must be ended before the parts of another may begin.</summary>
    public bool IsWithinValue => _place.Begun;

    public bool IsOver { get; private set; }

    /// <summary>Takes about so many records, or one part of a large value; true when nothing is left.</summary>
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

    /// <summary>Takes the records of some positions, having asked for all of them before; about how many they were.</summary>
    private int TakeSome(Keyspace keyspace)
    {
        ulong from = _cursor;
        try
        {
            return TakePositions(keyspace);
        }
        catch
        {
            // These positions are walked again: what was taken of them is told by its epoch.
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
        Entry entry = keyspace.Locate(KeyHash.Of(keyspace.KeyOf(handle)), handle);
        if (IsLarge(entry)) _large.Push(new Located(keyspace, entry.Hash, handle));
        else BeforeChange(entry);
    }

    /// <summary>Whether changing this value now would mean to take much at once: who can wait asks, and makes it be taken next.</summary>
    public bool IsLargeAndLeft(in Entry entry)
    {
        if (!IsLeft(entry.Keyspace, entry.Record) || !IsLarge(entry)) return false;
        var wanted = new Located(entry.Keyspace, entry.Hash, entry.Handle);
        bool isNext = _place.Begun ? _part == wanted : _large.TryPeek(out Located next) && next == wanted;
        if (!isNext) _large.Push(wanted);
        return true;
    }

    /// <summary>The record is about to change or to go.</summary>
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

    /// <summary>Takes over a database that was emptied, if it is not walked yet: true, and it is freed when it is.</summary>
    internal bool Adopt(Keyspace keyspace)
    {
        if (!_keyspaces.Contains(keyspace)) return false;
        keyspace.IsAbandoned = true;
        return true;
    }

    private static bool IsLarge(in Entry entry) =>
        (entry.Encoding == ValueEncoding.Large ? ValueInfo.MemoryUsage(entry) : entry.Value.Length) > LargeBytes;

    private bool IsLeft(Keyspace keyspace, Record record) => keyspace.CapturedAs >= 0 && record.Epoch != _store.Epoch;

    /// <summary>One part of the value that is being taken, or of the next one; false when there is none.</summary>
    private bool TakePart()
    {
        while (!_place.Begun)
        {
            if (!_large.TryPeek(out _part)) return false;
            Entry next = _part.Keyspace.Locate(_part.Hash, _part.Handle);
            // It may have been taken since, and its place may be another's.
            if (next.Exists && IsLeft(_part.Keyspace, next.Record)) break;
            _large.Pop();
        }
        Entry entry = _part.Keyspace.Locate(_part.Hash, _part.Handle);
        CapturePlace place = _place;
        bool isLast = _sink.TakePart(_part.Keyspace.CapturedAs, entry, ref place);
        // Only now: a sink that throws is given the same part once more.
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
