using RedisClone.Journal.Disk;

namespace RedisClone.Journal.Tests.Support;

/// <summary>The kinds of calls that can be made to fail. Each kind is counted separately.</summary>
public enum DiskCall { Open, Write, Flush, Truncate, Rename, Delete, FlushDirectory, Read, List, Lock }

/// <summary>
/// A deterministic disk in memory. Operations that are not flushed are kept in a list. <see cref="Crash"/> decides for
/// each sector and name whether an operation survived: operations are dropped, reordered, torn or replaced by zeros.
/// Flushes may lie, the Nth call of a kind may fail, and the power loss may occur at the Nth operation.
/// </summary>
public sealed class SimulatedDisk : IDisk
{
    private const int Sector = 512;
    private const int NoSpace = 28; // ENOSPC

    private readonly Dictionary<string, Inode> _names = [];
    private readonly Dictionary<string, Inode> _durableNames = [];
    private readonly List<(string Name, Inode? Target)[]> _pendingNames = [];
    private readonly HashSet<string> _directories = [];
    private readonly HashSet<string> _locks = [];
    private readonly int[] _calls = new int[Enum.GetValues<DiskCall>().Length];
    private readonly Lock _gate = new();
    private bool _isDead;

    /// <summary>
    /// The number of the operation at which the power loss occurs, counted from 1 without reads. 0 means never.
    /// </summary>
    public int PowerLossAt { get; set; }

    public int Operations { get; private set; }

    public bool PowerIsOff => PowerLossAt > 0 && Operations >= PowerLossAt;

    /// <summary>
    /// Called within each operation, at the moment at which <see cref="PowerLossAt"/> would interrupt it.
    /// <see cref="Crash"/> then returns the surviving content while the run continues. A single run therefore tests a
    /// crash at each of its operations.
    /// </summary>
    public Action? MomentOfLoss { get; set; }

    public DiskCall FailingCall { get; set; }

    /// <summary>The number of the failing call of <see cref="FailingCall"/>, counted from 1. 0 means none.</summary>
    public int FailsAt { get; set; }

    /// <summary>If true, all calls fail after the first failure, as on a removed disk.</summary>
    public bool FailsForGood { get; set; }

    /// <summary>The exception of a failing call. Null means an <see cref="IOException"/>.</summary>
    public Func<Exception>? Failure { get; set; }

    /// <summary>The probability that a call that changes something fails.</summary>
    public double Failures { get; set; }

    /// <summary>The probability that a flush returns without an effect.</summary>
    public double LyingFlushes { get; set; }

    /// <summary>Called before each flush of a file. Other operations go on while it blocks.</summary>
    public Action? BeforeFlush { get; set; }

    public Random Random { get; init; } = new(1);

    public int CallsOf(DiskCall call) => _calls[(int)call];

    /// <summary>Makes a call of a kind fail: the next one, or the nth from now on.</summary>
    public void FailNext(DiskCall call, int n = 1) => (FailingCall, FailsAt) = (call, CallsOf(call) + n);

    /// <summary>As <see cref="FailNext"/>, with the error of a full disk.</summary>
    public void RunOutOfSpace(DiskCall call, int n = 1)
    {
        Failure = static () => new IOException("No space left on device", NoSpace);
        FailNext(call, n);
    }

    public IDiskFile Open(string path, DiskOpen how)
    {
        lock (_gate)
        {
            Count(DiskCall.Open, mutates: how == DiskOpen.New);
            if (how == DiskOpen.New)
            {
                // Like O_TRUNC: an existing file keeps its identity and loses its bytes.
                if (_names.TryGetValue(path, out var old)) old.Truncate(0);
                else Rename([(path, new Inode())]);
                EndChange();
            }
            return _names.TryGetValue(path, out var inode) ? new Handle(this, inode) : throw new FileNotFoundException(path);
        }
    }

    public bool Exists(string path) => Under(() => _names.ContainsKey(path));

    public bool DirectoryExists(string path) => Under(() => _directories.Contains(path));

    public void CreateDirectory(string path) => Under(() => _directories.Add(path));

    public IReadOnlyList<string> List(string directory)
    {
        lock (_gate)
        {
            Count(DiskCall.List, mutates: false);
            return [.. _names.Keys.Where(p => Path.GetDirectoryName(p) == directory).Select(p => Path.GetFileName(p)!)];
        }
    }

    public void Rename(string from, string to)
    {
        lock (_gate)
        {
            Count(DiskCall.Rename, mutates: true);
            if (!_names.TryGetValue(from, out var inode)) throw new FileNotFoundException(from);
            Rename([(from, null), (to, inode)]);
            EndChange();
        }
    }

    public void Delete(string path)
    {
        lock (_gate)
        {
            Count(DiskCall.Delete, mutates: true);
            if (_names.ContainsKey(path)) Rename([(path, null)]);
            EndChange();
        }
    }

    public void FlushDirectory(string path)
    {
        lock (_gate)
        {
            Count(DiskCall.FlushDirectory, mutates: true);
            EndChange();
            if (Random.NextDouble() < LyingFlushes) return;
            foreach (var change in _pendingNames) Apply(_durableNames, change);
            _pendingNames.Clear();
        }
    }

    public IDisposable? TryLock(string path)
    {
        lock (_gate)
        {
            Count(DiskCall.Lock, mutates: false);
            return _locks.Add(path) ? new Held(() => Under(() => _locks.Remove(path))) : null;
        }
    }

    /// <summary>Returns the disk after the power is back. The new disk neither fails nor lies.</summary>
    public SimulatedDisk Crash(Random random)
    {
        var after = new SimulatedDisk { Random = random };
        foreach (var directory in _directories) after._directories.Add(directory);
        var names = new Dictionary<string, Inode>(_durableNames);
        var mode = random.Next(4);
        var kept = mode switch { 0 => 0, 1 => _pendingNames.Count, _ => random.Next(_pendingNames.Count + 1) };
        for (var i = 0; i < _pendingNames.Count; i++)
            if (mode == 3 ? random.Next(2) == 0 : i < kept) Apply(names, _pendingNames[i]);
        var survivors = new Dictionary<Inode, Inode>();
        foreach (var (name, inode) in names)
        {
            if (!survivors.TryGetValue(inode, out var survivor))
                survivors[inode] = survivor = new Inode(inode.AfterCrash(random));
            after._names[name] = after._durableNames[name] = survivor;
        }
        return after;
    }

    /// <summary>The bytes of a file, to examine or to damage.</summary>
    public byte[] this[string path]
    {
        get => _names[path].Bytes;
        set
        {
            if (_names.TryGetValue(path, out var inode)) inode.Replace(value);
            else _names[path] = _durableNames[path] = new Inode(value);
        }
    }

    public void Remove(string path)
    {
        _names.Remove(path);
        _durableNames.Remove(path);
    }

    public SimulatedDisk Clone()
    {
        var copy = new SimulatedDisk();
        foreach (var directory in _directories) copy._directories.Add(directory);
        foreach (var (name, inode) in _names) copy._names[name] = copy._durableNames[name] = new Inode(inode.Bytes);
        return copy;
    }

    private void Count(DiskCall call, bool mutates)
    {
        ThrowIfDead();
        if (mutates && ++Operations == PowerLossAt) _isDead = true;
        if (mutates && Failures > 0 && Random.NextDouble() < Failures)
            throw new IOException($"{call} fails by chance: Input/output error");
        if (++_calls[(int)call] == FailsAt && call == FailingCall)
        {
            if (FailsForGood) _isDead = true;
            throw Failure?.Invoke() ?? new IOException($"{call} {FailsAt} fails: No space left on device");
        }
    }

    /// <summary>
    /// Ends a call that changes something. At a power loss its change may or may not have taken effect.
    /// </summary>
    private void EndChange()
    {
        MomentOfLoss?.Invoke();
        ThrowIfDead();
    }

    private void ThrowIfDead()
    {
        if (_isDead) throw new IOException("the power is off");
    }

    private void Rename((string Name, Inode? Target)[] change)
    {
        Apply(_names, change);
        _pendingNames.Add(change);
    }

    private static void Apply(Dictionary<string, Inode> names, (string Name, Inode? Target)[] change)
    {
        foreach (var (name, target) in change)
            if (target is null) names.Remove(name);
            else names[name] = target;
    }

    private T Under<T>(Func<T> step)
    {
        lock (_gate) return step();
    }

    private sealed class Held(Action release) : IDisposable
    {
        public void Dispose() => release();
    }

    private sealed class Handle(SimulatedDisk disk, Inode inode) : IDiskFile
    {
        private bool _isClosed;

        public long Length => disk.Under(() => inode.Length);

        public int Read(long offset, Span<byte> into)
        {
            lock (disk._gate)
            {
                disk.Count(DiskCall.Read, mutates: false);
                return inode.Read(offset, into);
            }
        }

        public void Write(long offset, ReadOnlySpan<byte> bytes)
        {
            lock (disk._gate)
            {
                ObjectDisposedException.ThrowIf(_isClosed, this);
                try
                {
                    disk.Count(DiskCall.Write, mutates: true);
                }
                catch (IOException) when (!disk._isDead)
                {
                    // A failing write may have taken effect in part.
                    inode.Write(offset, bytes[..disk.Random.Next(bytes.Length + 1)]);
                    throw;
                }
                inode.Write(offset, bytes);
                disk.EndChange();
            }
        }

        public void Write(long offset, IReadOnlyList<ReadOnlyMemory<byte>> parts)
        {
            var all = new byte[parts.Sum(p => p.Length)];
            var at = 0;
            foreach (var part in parts)
            {
                part.CopyTo(all.AsMemory(at));
                at += part.Length;
            }
            Write(offset, all);
        }

        public void Flush()
        {
            disk.BeforeFlush?.Invoke();
            lock (disk._gate)
            {
                ObjectDisposedException.ThrowIf(_isClosed, this);
                disk.Count(DiskCall.Flush, mutates: true);
                disk.EndChange();
                if (disk.Random.NextDouble() >= disk.LyingFlushes) inode.Flush();
            }
        }

        public void Truncate(long length)
        {
            lock (disk._gate)
            {
                disk.Count(DiskCall.Truncate, mutates: true);
                inode.Truncate((int)length);
                disk.EndChange();
            }
        }

        public void Dispose() => _isClosed = true;
    }

    /// <summary>A file: its bytes, its durable bytes and the operations since.</summary>
    private sealed class Inode
    {
        private readonly List<(int Offset, byte[]? Bytes)> _pending = [];
        private byte[] _bytes;
        private byte[] _durable;

        public Inode() => _bytes = _durable = [];

        public Inode(byte[] bytes)
        {
            _durable = bytes;
            _bytes = [.. bytes];
            Length = bytes.Length;
        }

        public int Length { get; private set; }

        public byte[] Bytes => _bytes[..Length];

        public int Read(long offset, Span<byte> into)
        {
            var count = (int)Math.Clamp(Length - offset, 0, into.Length);
            _bytes.AsSpan((int)Math.Min(offset, Length), count).CopyTo(into);
            return count;
        }

        public void Write(long offset, ReadOnlySpan<byte> bytes)
        {
            if (bytes.IsEmpty) return;
            _pending.Add(((int)offset, bytes.ToArray()));
            _bytes = Applied(_bytes, Length, _pending[^1], out var length);
            Length = length;
        }

        public void Truncate(int length)
        {
            if (length == Length) return;
            _pending.Add((length, null));
            _bytes = Applied(_bytes, Length, _pending[^1], out length);
            Length = length;
        }

        public void Flush()
        {
            if (_pending.Count == 0) return;
            _pending.Clear();
            _durable = Bytes;
        }

        public void Replace(byte[] bytes)
        {
            _pending.Clear();
            _durable = bytes;
            _bytes = [.. bytes];
            Length = bytes.Length;
        }

        public byte[] AfterCrash(Random random)
        {
            if (_pending.Count == 0) return _durable;
            var mode = random.Next(4);
            if (mode == 0) return _durable;
            if (mode == 1) return Bytes;

            // Each sector shows the file after some number of the pending operations. The same holds for the length.
            var sectors = (Math.Max(_durable.Length, LongestPending()) + Sector - 1) / Sector;
            var versions = new int[sectors];
            var common = random.Next(_pending.Count + 1);
            for (var i = 0; i < sectors; i++)
                versions[i] = mode == 2 && random.Next(3) > 0 ? common : random.Next(_pending.Count + 1);
            var lengthVersion = random.Next(3) == 0 ? random.Next(_pending.Count + 1) : _pending.Count;

            var result = new byte[sectors * Sector];
            var (bytes, length, resultLength) = (_durable, _durable.Length, _durable.Length);
            for (var version = 0; version <= _pending.Count; version++)
            {
                if (version > 0) bytes = Applied(bytes.AsSpan(0, length).ToArray(), length, _pending[version - 1], out length);
                for (var i = 0; i < sectors; i++)
                    if (versions[i] == version)
                        bytes.AsSpan(Math.Min(length, i * Sector), Math.Clamp(length - i * Sector, 0, Sector))
                            .CopyTo(result.AsSpan(i * Sector));
                if (version == lengthVersion) resultLength = length;
            }
            if (random.Next(4) == 0 && resultLength > _durable.Length)
                resultLength = random.Next(_durable.Length, resultLength + 1);
            return result[..resultLength];
        }

        private int LongestPending() => _pending.Max(p => p.Offset + (p.Bytes?.Length ?? 0));

        private static byte[] Applied(byte[] bytes, int length, (int Offset, byte[]? Bytes) change, out int newLength)
        {
            newLength = change.Bytes is null ? change.Offset : Math.Max(length, change.Offset + change.Bytes.Length);
            if (bytes.Length < newLength) Array.Resize(ref bytes, Math.Max(newLength, bytes.Length * 2));
            if (newLength > length) bytes.AsSpan(length, newLength - length).Clear();
            change.Bytes?.CopyTo(bytes.AsSpan(change.Offset));
            return bytes;
        }
    }
}
