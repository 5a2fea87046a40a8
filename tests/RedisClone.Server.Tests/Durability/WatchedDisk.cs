using System.Text;
using RedisClone.Journal.Disk;

namespace RedisClone.Server.Tests.Durability;

/// <summary>The calls that can fail on demand.</summary>
[Flags]
public enum Faults { None = 0, Open = 1, Write = 2, Flush = 4, Rename = 8, Delete = 16, All = 31 }

/// <summary>
/// The real disk with observation. It fails on demand, its fsyncs take time, and it knows which marks (<see cref="MarkOf"/>,
/// anywhere in the written bytes) are durable. A mark is durable when the fsync that covers it has returned, and not earlier.
/// </summary>
internal sealed class WatchedDisk : IDisk
{
    private const int MarkLength = 11;
    private const string NoSpace = "No space left on device";
    private const int NoSpaceCode = 28; // ENOSPC

    private readonly RealDisk _disk = RealDisk.Instance;
    private readonly Lock _gate = new();
    private readonly HashSet<string> _durable = [];
    private readonly HashSet<string> _allWritten = [];
    private volatile Faults _faults;

    public Faults Faults
    {
        get => _faults;
        set => _faults = value;
    }

    public TimeSpan FlushTime { get; set; }

    public TimeSpan WriteTime { get; set; }

    /// <summary>Called before each write of parts or bytes.</summary>
    public Action Writing { get; set; } = static () => { };

    /// <summary>Called before a file is closed.</summary>
    public Action Closing { get; set; } = static () => { };

    public static string MarkOf(int number) => $"id:{number:x8}";

    /// <summary>Returns the marks in a text.</summary>
    public static IEnumerable<string> MarksIn(string text)
    {
        for (int at = 0; (at = text.IndexOf("id:", at, StringComparison.Ordinal)) >= 0 && at + MarkLength <= text.Length; at += MarkLength)
            yield return text.Substring(at, MarkLength);
    }

    public bool IsDurable(string mark)
    {
        lock (_gate) return _durable.Contains(mark);
    }

    /// <summary>Returns whether a write of the mark has returned.</summary>
    public bool IsWritten(string mark)
    {
        lock (_gate) return _allWritten.Contains(mark);
    }

    public IDiskFile Open(string path, DiskOpen how)
    {
        if (how == DiskOpen.New) FailIf(Faults.Open, NoSpace);
        return new WatchedFile(this, _disk.Open(path, how));
    }

    public bool Exists(string path) => _disk.Exists(path);

    public bool DirectoryExists(string path) => _disk.DirectoryExists(path);

    public void CreateDirectory(string path) => _disk.CreateDirectory(path);

    public IReadOnlyList<string> List(string directory) => _disk.List(directory);

    public void Rename(string from, string to)
    {
        FailIf(Faults.Rename, "Input/output error");
        _disk.Rename(from, to);
    }

    public void Delete(string path)
    {
        FailIf(Faults.Delete, "Input/output error");
        _disk.Delete(path);
    }

    public void FlushDirectory(string path) => _disk.FlushDirectory(path);

    public IDisposable? TryLock(string path) => _disk.TryLock(path);

    private void FailIf(Faults fault, string reason)
    {
        if ((_faults & fault) != 0) throw new IOException(reason, reason == NoSpace ? NoSpaceCode : 0);
    }

    private sealed class WatchedFile(WatchedDisk disk, IDiskFile file) : IDiskFile
    {
        private readonly Lock _gate = new();
        private List<string> _written = [];

        public long Length => file.Length;

        public int Read(long offset, Span<byte> into) => file.Read(offset, into);

        public void Write(long offset, ReadOnlySpan<byte> bytes)
        {
            disk.FailIf(Faults.Write, NoSpace);
            disk.Writing();
            file.Write(offset, bytes);
            EndWrite(MarksIn(Encoding.Latin1.GetString(bytes)));
        }

        public void Write(long offset, IReadOnlyList<ReadOnlyMemory<byte>> parts)
        {
            disk.FailIf(Faults.Write, NoSpace);
            disk.Writing();
            file.Write(offset, parts);
            EndWrite(MarksIn(string.Concat(parts.Select(p => Encoding.Latin1.GetString(p.Span)))));
        }

        private void EndWrite(IEnumerable<string> marks)
        {
            if (disk.WriteTime > TimeSpan.Zero) Thread.Sleep(disk.WriteTime);
            string[] written = [.. marks];
            lock (_gate) _written.AddRange(written);
            lock (disk._gate) disk._allWritten.UnionWith(written);
        }

        public void Flush()
        {
            List<string> covered;
            lock (_gate) (covered, _written) = (_written, []);
            if (disk.FlushTime > TimeSpan.Zero) Thread.Sleep(disk.FlushTime);
            disk.FailIf(Faults.Flush, "Input/output error");
            file.Flush();
            lock (disk._gate) disk._durable.UnionWith(covered);
        }

        public void Truncate(long length) => file.Truncate(length);

        public void Dispose()
        {
            disk.Closing();
            file.Dispose();
        }
    }
}
