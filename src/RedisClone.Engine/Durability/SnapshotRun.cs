using System.Collections.Concurrent;
using System.Diagnostics;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Engine.Shards;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Durability;

/// <summary>
/// One snapshot of one moment, taken while clients continue. It is created while every shard is held; that is the moment of
/// the snapshot. One thread then captures the shards one after the other in slices and writes the file in between. A record
/// that is about to change is captured first, by the thread that changes it (see <see cref="Capture"/>).
/// </summary>
/// <remarks>
/// The parts of a large value are contiguous in the file, so everything else that is captured meanwhile waits in memory. This
/// memory is limited: beyond <see cref="_most"/> bytes, commands that write wait. The walk waits too, since the same thread
/// writes the file. After a failure the walk continues without capturing data, because every record must have the new epoch
/// bit before the next snapshot.
/// </remarks>
internal sealed class SnapshotRun : IShardWork, IDisposable
{
    /// <summary>The reason of a cancellation.</summary>
    public const string Cancelled = "it was cancelled";

    private const int SliceRecords = 128;

    private static readonly TimeSpan RoomInterval = TimeSpan.FromMilliseconds(2);

    /// <summary>Bytes that may always wait to be written: at most a 32nd of a heap with a limit.</summary>
    private static readonly long LeastBuffer = HeapLimit.Part(32, 16 << 20);

    private readonly ServerCore _server;
    private readonly SnapshotFile _file;
    private readonly SlotSet? _slots;
    private readonly Capture[] _captures;
    private readonly ShardCapture[] _sinks;
    private readonly ThreadLocal<IKeyForm> _forms;
    private readonly ConcurrentQueue<Package> _sent = new();
    private readonly Queue<Package> _behind = new();
    private readonly ConcurrentQueue<int> _hurried = new();
    private readonly ManualResetEventSlim _sliced = new();
    private readonly ManualResetEventSlim _over = new();
    private readonly long _most;
    private readonly long _started = Stopwatch.GetTimestamp();
    private long _waiting;
    private long _keysDone;
    private string? _failure;
    private int _writingThread;
    private bool _withinValue;
    private int _shard;
    private int _walked;

    /// <summary>Marks the moment of the snapshot. The caller holds every shard.</summary>
    public SnapshotRun(ServerCore server, SnapshotOrder order)
    {
        _server = server;
        _file = new SnapshotFile(server, order);
        _slots = order.Slots;
        _most = Math.Max(LeastBuffer, server.Eviction.UsedBytes / 32);
        bool compress = server.Config.RdbCompression;
        _forms = new ThreadLocal<IKeyForm>(() => order.AsRdb ? new RdbForm(compress) : new CommandForm());
        // Without keys there is nothing to capture, and a capture that is in progress for another snapshot continues.
        int shards = _file.Keys == 0 ? 0 : server.Shards.Count;
        _sinks = new ShardCapture[shards];
        _captures = new Capture[shards];
        for (int i = 0; i < shards; i++) _sinks[i] = new ShardCapture(this);
        int begun = 0;
        try
        {
            for (; begun < shards; begun++) _captures[begun] = server.Shards[begun].Store.BeginCapture(_sinks[begun]);
        }
        catch (OutOfMemoryException failure)
        {
            // The captures that have begun must still be walked to their end.
            _captures = _captures[..begun];
            Fail(failure);
        }
    }

    public long Keys => _file.Keys;

    public long KeysDone => Volatile.Read(ref _keysDone);

    public long Seconds => (long)Taken.TotalSeconds;

    public TimeSpan Taken => Stopwatch.GetElapsedTime(_started);

    /// <summary>Whether the snapshot has failed or was cancelled. No more records are captured then.</summary>
    public bool IsOver => Volatile.Read(ref _failure) is not null;

    /// <summary>Whether the snapshot was cancelled, which is not a failure.</summary>
    public bool IsCancelled { get; private set; }

    /// <summary>Whether the snapshot failed because memory was missing.</summary>
    public bool LacksMemory { get; private set; }

    /// <summary>Whether the snapshot has a record. A capture visits all of them.</summary>
    public bool Has(in Entry entry) => _slots is null || _slots.Contains(KeySlot.OfHash(entry.Hash));

    /// <summary>The form that the calling thread writes keys with.</summary>
    public IKeyForm Form => _forms.Value!;

    /// <summary>
    /// Writes the whole file. Returns null, or the reason of a failure. <paramref name="failed"/> is called at once, before
    /// the rest of the walk.
    /// </summary>
    public string? Write(Action<string> failed)
    {
        _writingThread = Environment.CurrentManagedThreadId;
        Guarded(_file.Open);
        bool told = false;
        var pace = new SnapshotPace();
        while (true)
        {
            long start = Stopwatch.GetTimestamp();
            bool rests = MustRest(), more = rests || Slice();
            if (!IsOver) Guarded(WriteSent);
            if (IsOver && !told)
            {
                told = true;
                _file.Discard();
                failed(_failure!);
            }
            if (!more) break;
            if (rests) continue;
            TimeSpan rest = pace.RestAfter(Stopwatch.GetElapsedTime(start));
            if (rest > TimeSpan.Zero && !IsAwaited) _over.Wait(rest);
        }
        if (!IsOver) Guarded(_file.End);
        // The outcome is read once. The file is complete, so a cancellation from now on can only prevent its publication.
        string? failure = Volatile.Read(ref _failure);
        if (failure is null)
        {
            _file.Dispose();
        }
        else if (!told)
        {
            _file.Discard();
            failed(failure);
        }
        return failure;
    }

    /// <summary>Writes the whole file for a caller that holds every shard until the end.</summary>
    public string? WriteHeld()
    {
        _writingThread = Environment.CurrentManagedThreadId;
        Guarded(_file.Open);
        for (int i = 0; i < _captures.Length; i++)
        {
            while (!_captures[i].IsOver)
            {
                TakeSlice(i);
                if (!IsOver) Guarded(WriteSent);
            }
        }
        if (!IsOver) Guarded(WriteSent);
        if (!IsOver) Guarded(_file.End);
        string? failure = Volatile.Read(ref _failure);
        if (failure is null) _file.Dispose();
        else _file.Discard();
        return failure;
    }

    /// <summary>
    /// Waits a moment if the output has no room. True if there may be more to do. A command that waits for the walk does not wait
    /// for the output.
    /// </summary>
    private bool MustRest()
    {
        if (IsOver || _file.HasRoom || !_hurried.IsEmpty || Interlocked.Read(ref _waiting) > _most / 2) return false;
        _over.Wait(RoomInterval);
        return true;
    }

    /// <summary>Captures a slice of one shard, on this thread or on a worker. False when all shards are captured.</summary>
    public bool Slice()
    {
        if (NextShard() is not (>= 0 and var index)) return false;
        Shard shard = _server.Shards[index];
        if (shard.TryEnter())
        {
            try
            {
                TakeHeld(shard);
            }
            finally
            {
                shard.Exit();
            }
            return true;
        }
        _sliced.Reset();
        shard.Post(this);
        _sliced.Wait();
        return true;
    }

    bool IShardWork.RunHeld(Shard shard)
    {
        TakeHeld(shard);
        _sliced.Set();
        return false;
    }

    /// <summary>
    /// Captures a slice of a held shard. It does not throw: after an exception the snapshot fails, and the walk continues
    /// without capturing data.
    /// </summary>
    private void TakeHeld(Shard shard)
    {
        try
        {
            TakeSlice(shard.Index);
        }
        catch (Exception failure)
        {
            _server.Failures.BackgroundFailed("a snapshot's step failed", failure, shard);
            Fail(failure);
        }
    }

    /// <summary>Passes a package to the thread that writes the file. The caller holds the shard.</summary>
    public void Send(Package package)
    {
        Interlocked.Add(ref _waiting, package.Length);
        _sent.Enqueue(package);
    }

    /// <summary>Writes what was sent, if this is the thread that writes the file. The caller may hold a shard.</summary>
    public void WriteEarly()
    {
        if (Environment.CurrentManagedThreadId == _writingThread && !IsOver) Guarded(WriteSent);
    }

    public void Fail(Exception failure)
    {
        if (FailurePolicy.IsOutOfMemory(failure)) LacksMemory = true;
        Fail(failure.Message);
    }

    private void Fail(string reason)
    {
        Interlocked.CompareExchange(ref _failure, reason, null);
        _over.Set();
    }

    /// <summary>Cancels the snapshot.</summary>
    public void Cancel()
    {
        IsCancelled = true;
        Fail(Cancelled);
    }

    /// <summary>
    /// Whether a command must wait although its shards are held. It waits if too much captured data is not written yet, or if
    /// it would change a large value that is not captured yet. The capture of that value's shard then comes next.
    /// </summary>
    public bool MustWait(ref CommandContext c)
    {
        CommandRow row = c.Row;
        int database = c.Session.Database;
        if (IsOver || _captures.Length == 0 || row.Has(CommandFlags.ReadOnly) || row.Keys.Length == 0 && row.Route is null) return false;
        if (Interlocked.Read(ref _waiting) > _most && (c.Flags & CommandFlags.Write) != 0) return true;
        if (c.Session.Transaction is not { } transaction || row.Name != "exec") return HasLarge(database, row, c.Args);
        foreach (Transaction.Queued queued in transaction)
            if (HasLarge(database, queued.Row, queued.Request)) return true;
        return false;
    }

    public void Dispose()
    {
        _file.Dispose();
        foreach (Package package in _sent) package.Dispose();
        foreach (Package package in _behind) package.Dispose();
        _forms.Dispose();
        _sliced.Dispose();
        _over.Dispose();
    }

    private bool HasLarge(int database, CommandRow row, in Request request)
    {
        if (row.Has(CommandFlags.ReadOnly) || row.Keys.Length == 0) return false;
        bool found = false;
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        if (row.CollectKeys(request, ref positions))
            for (int i = 0; i < positions.Count && !found; i++) found = IsLarge(database, request[positions[i]]);
        positions.Dispose();
        return found;
    }

    private bool IsLarge(int database, ReadOnlySpan<byte> key)
    {
        ulong hash = _server.Shards.HashOf(key);
        int index = _server.Shards.IndexOf(hash);
        ShardStore store = _server.Shards[index].Store;
        if (store.Capture != _captures[index] || store.ExistingDatabase(database) is not { } keyspace) return false;
        Entry entry = keyspace.Find(key, hash);
        if (!entry.Exists || !_captures[index].IsLargeAndLeft(entry)) return false;
        if (_hurried.IsEmpty) _hurried.Enqueue(index);
        return true;
    }

    /// <summary>
    /// The shard to capture next: the one with an unfinished large value, then one that a command waits for, then the next in
    /// order.
    /// </summary>
    private int NextShard()
    {
        if (_captures.Length == 0) return -1;
        if (!_captures[_shard].IsOver && _captures[_shard].IsWithinValue) return _shard;
        while (_hurried.TryDequeue(out int hurried))
            if (!_captures[hurried].IsOver) return _shard = hurried;
        while (_walked < _captures.Length && _captures[_walked].IsOver) _walked++;
        return _walked < _captures.Length ? _shard = _walked : -1;
    }

    /// <summary>Whether commands wait for the walk, or soon will.</summary>
    private bool IsAwaited => !_hurried.IsEmpty || _captures[_shard].IsWithinValue || Interlocked.Read(ref _waiting) > _most / 2;

    private void TakeSlice(int index)
    {
        ShardStore store = _server.Shards[index].Store;
        store.Now = ServerCore.UnixMilliseconds();
        if (_captures[index].Step(SliceRecords)) _sinks[index].Flush();
    }

    /// <summary>Writes the packages in order. While a large value is incomplete, all other packages wait behind it.</summary>
    private void WriteSent()
    {
        while (_sent.TryDequeue(out Package? package))
        {
            if (_withinValue && !package.IsPart)
            {
                _behind.Enqueue(package);
                continue;
            }
            Write(package);
            _withinValue = package is { IsPart: true, IsLastPart: false };
            while (!_withinValue && _behind.TryDequeue(out Package? next)) Write(next);
        }
    }

    private void Write(Package package)
    {
        package.CopyTo(_file);
        Interlocked.Add(ref _waiting, -package.Length);
        Volatile.Write(ref _keysDone, _keysDone + package.Keys);
        Delay(package.Keys);
        package.Dispose();
    }

    /// <summary>Waits as rdb-key-save-delay says. A change of the parameter ends a long wait.</summary>
    private void Delay(long keys)
    {
        const double longestStep = 100_000;
        for (double waited = 0, left; (left = (double)keys * _server.Config.RdbKeySaveDelay - waited) > 0; waited += longestStep)
            if (_over.Wait(TimeSpan.FromMicroseconds(Math.Min(left, longestStep)))) return;
    }

    private void Guarded(Action step)
    {
        try
        {
            step();
        }
        catch (Exception failure)
        {
            // This includes a lack of memory. The walk must continue, and no file is produced.
            Fail(failure);
        }
    }
}
