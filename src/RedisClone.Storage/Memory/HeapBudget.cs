using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using RedisClone.Memory;

namespace RedisClone.Storage.Memory;

/// <summary>
/// The parts of the process's heap that arenas and clients may take. The rest is the reserve: garbage, replies, scripts and the
/// runtime take it, and those allocations cannot be refused. Arenas and clients share one sum, so that together they never take
/// the reserve: arenas refuse keys and values, and clients are disconnected. Thread-safe.
/// </summary>
public sealed class HeapBudget
{
    private const long LeastReserve = 32 << 20;
    private const int ReserveShift = 4;
    private const int LowShift = 2;

    /// <summary>The clients may take this part of the heap: a quarter.</summary>
    private const int ClientShift = 2;

    /// <summary>Arenas leave at least this part of the heap to the clients: a sixteenth, or 64 MB if that is less.</summary>
    private const int LeastClientShift = 4;
    private const long MostOfLeast = 64 << 20;

    private readonly long _heap;
    private readonly long _room;             // of arenas and clients together
    private readonly long _mostOfClients;
    private readonly long _leastOfClients;
    /// <summary>The sizes of the arrays that do not fit into the reserve twice.</summary>
    private readonly List<int> _large = [];
    private readonly long _largeFrom;
    private long _extra;
    private long _taken;
    private long _clients;
    private int _loads;

    /// <summary>A budget of arenas only. The memory of clients is not limited.</summary>
    /// <param name="limit">The bytes that arenas may take.</param>
    public HeapBudget(long limit) =>
        (_heap, _room, _mostOfClients, _largeFrom) =
            (Math.Max(limit, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes), limit, long.MaxValue, long.MaxValue);

    /// <summary>A budget for a heap with a hard limit.</summary>
    /// <param name="heap">The limit of the heap.</param>
    /// <param name="room">The bytes that arenas and clients may take together.</param>
    public HeapBudget(long heap, long room)
    {
        (_heap, _room) = (heap, room);
        _mostOfClients = heap >> ClientShift;
        _leastOfClients = Math.Min(heap >> LeastClientShift, MostOfLeast);
        _largeFrom = (heap - room) / 8 * 3;
    }

    /// <summary>
    /// The budget of all arenas and clients of the process. Without a hard limit of the heap, arenas may take the memory of the
    /// machine, and the memory of clients is not limited.
    /// </summary>
    public static HeapBudget OfProcess { get; } = HeapLimit.Bytes > 0
        ? new HeapBudget(HeapLimit.Bytes, PartOf(HeapLimit.Bytes))
        : new HeapBudget(PartOf(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes));

    /// <summary>Bytes that arenas may take while clients take little.</summary>
    public long Limit
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref _loads) == 0 ? _room - _leastOfClients - Volatile.Read(ref _extra) : _room;
    }

    /// <summary>
    /// Adds 1 when data begins to be loaded, and -1 when that ends. Meanwhile arenas may take the part of the clients too, because
    /// the order of the work, and so the most memory that it takes, may differ from the first time.
    /// </summary>
    public void LoadsChanged(int by) => Interlocked.Add(ref _loads, by);

    /// <summary>Whether the memory of clients is limited.</summary>
    public bool LimitsClients => _mostOfClients != long.MaxValue;

    /// <summary>
    /// Bytes that clients may take: a quarter of the heap, or what the arenas leave if that is less.
    /// </summary>
    public long ClientLimit =>
        LimitsClients ? Math.Clamp(_room - Volatile.Read(ref _taken), _leastOfClients, _mostOfClients) : long.MaxValue;

    /// <summary>Bytes that clients hold, those included that are being disconnected.</summary>
    public long Clients => Volatile.Read(ref _clients);

    /// <summary>
    /// Little is left, so a command that may take this many bytes must be refused before its first effect. The last sixteenth is
    /// reserved for commands that need memory to complete.
    /// </summary>
    public bool IsShortFor(int bytes) => Left < (Limit >> ReserveShift) + bytes;

    /// <summary>Whether little is left of a heap with a limit.</summary>
    public bool IsShort => LimitsClients && IsShortFor(0);

    /// <summary>
    /// Less than a quarter is left beside these bytes, so what was deleted is freed faster than in the background.
    /// </summary>
    public bool IsLowFor(int bytes) => Left < (Limit >> LowShift) + bytes;

    /// <summary>
    /// Whether live objects took more than some quarters of what arenas and clients leave to others when the collector ran last. The
    /// collector may not run for a long time after that: while the heap counts as full, commands are refused, and nothing is allocated.
    /// </summary>
    public bool IsHeapFull(int quarters = 1)
    {
        GCMemoryInfo last = GC.GetGCMemoryInfo(GCKind.Any);
        long live = last.HeapSizeBytes - last.FragmentedBytes;
        return live > _room + (_heap - _room) / 4 * quarters;
    }

    /// <summary>Adds a change of the bytes that clients hold.</summary>
    public void ClientsChanged(long bytes) => Interlocked.Add(ref _clients, bytes);

    /// <summary>The part of a heap that arenas and clients may take together.</summary>
    internal static long PartOf(long heap) => heap - Math.Max(heap >> ReserveShift, Math.Min(LeastReserve, heap / 2));

    internal void Take(long bytes)
    {
        if (Interlocked.Add(ref _taken, bytes) <= Limit - Lent) return;
        Give(bytes);
        ThrowSpent();
    }

    /// <summary>
    /// Takes the bytes of an array. A snapshot and a load need the largest string twice, so what the reserve does not have for it is left
    /// free: otherwise the data could not be saved, and a restart could not load them.
    /// </summary>
    internal void TakeArray(int bytes)
    {
        if (bytes <= _largeFrom)
        {
            Take(bytes);
            return;
        }
        lock (_large)
        {
            _large.EnsureCapacity(_large.Count + 1);
            long more = Math.Max(0, ExtraFor(bytes) - _extra);
            if (Volatile.Read(ref _loads) == 0 && Left - more < bytes) ThrowSpent();
            Take(bytes);
            _large.Add(bytes);
            Volatile.Write(ref _extra, _extra + more);
        }
    }

    internal void GiveArray(int bytes)
    {
        Give(bytes);
        ArrayIsGone(bytes);
    }

    /// <summary>Notes that an array is gone whose bytes are given back by another call.</summary>
    internal void ArrayIsGone(int bytes)
    {
        if (bytes <= _largeFrom) return;
        lock (_large)
        {
            // A finalizer may run this, so it takes no memory.
            _large.Remove(bytes);
            long largest = _largeFrom;
            foreach (int other in _large) largest = Math.Max(largest, other);
            Volatile.Write(ref _extra, ExtraFor(largest));
        }
    }

    /// <summary>The bytes beside the reserve that are left free for an array.</summary>
    private long ExtraFor(long bytes) => 2 * (bytes - _largeFrom);

    /// <summary>Takes bytes that are allocated already.</summary>
    internal void TakeKept(long bytes) => Interlocked.Add(ref _taken, bytes);

    internal void Give(long bytes) => Interlocked.Add(ref _taken, -bytes);

    /// <summary>Bytes that arenas may still take.</summary>
    public long Left => Limit - Lent - Volatile.Read(ref _taken);

    /// <summary>Bytes of the arenas' part that clients use, beyond the part that arenas leave to them always.</summary>
    private long Lent => LimitsClients ? Math.Max(0, Volatile.Read(ref _clients) - _leastOfClients) : 0;

    [DoesNotReturn]
    private static void ThrowSpent() =>
        throw new InsufficientMemoryException("The memory budget of keys and values is used up.");
}
