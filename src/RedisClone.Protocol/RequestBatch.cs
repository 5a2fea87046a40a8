using System.Runtime.CompilerServices;
using System.Text;

namespace RedisClone.Protocol;

/// <summary>
/// The requests of one read, reused by its connection. Arguments are in the memory of the pipe, or, for a request that spans
/// segments, in a pooled buffer that the batch owns until it is cleared. The batch stores only arrays and offsets, so any thread
/// may read it until the pipe advances.
/// </summary>
public sealed class RequestBatch
{
    private readonly SliceList _slices = new();
    private readonly List<byte[]> _rented = [];
    private Entry[] _entries = [];
    private byte[]? _error;

    private record struct Entry(byte[] Buffer, int FirstSlice, int Count, int WireLength, bool IsOnWire = false);

    public int Count { get; private set; }

    /// <summary>Bytes of the requests so far on the wire.</summary>
    public long WireBytes { get; private set; }

    /// <summary>Bytes of the arrays that the batch keeps for the next parse. Any thread may read it.</summary>
    public long ArrayBytes => _slices.ArrayBytes + (long)_entries.Length * Unsafe.SizeOf<Entry>();

    public Request this[int index]
    {
        get
        {
            ref Entry entry = ref _entries[index];
            return new Request(entry.Buffer, _slices.Range(entry.FirstSlice, entry.Count), entry.WireLength, entry.IsOnWire);
        }
    }

    /// <summary>
    /// The protocol error after the requests, without the leading '-'. The requests before it are valid. Nothing after it can be
    /// parsed.
    /// </summary>
    public string? Error => _error is null ? null : Encoding.Latin1.GetString(_error);

    /// <summary>The protocol error as it is sent to the client. It may quote a byte that is not text.</summary>
    public ReadOnlySpan<byte> ErrorBytes => _error;

    public bool HasError => _error is not null;

    /// <summary>
    /// Returns the pooled buffers and prepares for the next parse. No reference to the input stays, because it would keep the memory of
    /// a large array while the connection waits.
    /// </summary>
    public void Clear()
    {
        _entries.AsSpan(0, Count).Clear();
        if (_rented.Count > 0)
        {
            foreach (byte[] buffer in _rented) RequestBuffers.Return(buffer);
            _rented.Clear();
        }
        _slices.Clear();
        Count = 0;
        WireBytes = 0;
        _error = null;
    }

    internal void Fail(byte[] error) => _error = error;

    /// <summary>Room for the next request with its arguments. <see cref="Add"/> takes them over.</summary>
    public Span<ArgSlice> Room(int arguments)
    {
        MakeRoom();
        return _slices.Room(arguments);
    }

    /// <summary>Adds a request with the slices written to <see cref="Room"/>.</summary>
    /// <param name="buffer">The array with its arguments.</param>
    /// <param name="arguments">Their number.</param>
    /// <param name="wireLength">Bytes of the request on the wire.</param>
    /// <param name="isOnWire">Whether the array has the whole request in RESP, and each number has no other digits than it needs.</param>
    public void Add(byte[] buffer, int arguments, int wireLength, bool isOnWire = false)
    {
        int first = _slices.Count;
        _slices.Take(arguments);
        AddEntry(new Entry(buffer, first, arguments, wireLength, isOnWire));
    }

    /// <summary>Adds a request and takes over its slices.</summary>
    internal void Add(byte[] buffer, SliceList slices, int wireLength)
    {
        (int first, int count) = (_slices.Count, slices.Count);
        _slices.TakeAll(slices);
        AddEntry(new Entry(buffer, first, count, wireLength));
    }

    /// <summary>Adds the inline command buffer[start..end), which has no quotes. A blank line adds nothing.</summary>
    internal void AddLine(byte[] buffer, int start, int end, int wireLength)
    {
        int first = _slices.Count;
        InlineSplitter.Split(buffer, start, end, _slices);
        if (_slices.Count > first) AddEntry(new Entry(buffer, first, _slices.Count - first, wireLength));
    }

    /// <summary>Takes over a pooled buffer. <see cref="Clear"/> returns it.</summary>
    internal void Own(byte[] rented) => _rented.Add(rented);

    private void AddEntry(Entry entry)
    {
        MakeRoom();
        _entries[Count++] = entry;
        WireBytes += entry.WireLength;
    }

    private void MakeRoom()
    {
        if (Count == _entries.Length) Array.Resize(ref _entries, Math.Max(8, Count * 2));
    }
}
