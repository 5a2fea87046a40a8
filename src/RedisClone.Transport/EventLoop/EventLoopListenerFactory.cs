using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using RedisClone.Memory;
using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// The transport for Kestrel. It owns the event loops and binds endpoints to them. The event loops start when the first endpoint
/// is bound.
/// </summary>
[SupportedOSPlatform("linux")]
public sealed class EventLoopListenerFactory(IOptions<EventLoopOptions> options, ILoggerFactory logs)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector, IDisposable
{
    private readonly ILogger _log = logs.CreateLogger<EventLoopListenerFactory>();
    private readonly Lock _gate = new();
    private readonly List<EventLoopListener> _listeners = [];
    private readonly LoopBalance _balance = new(options.Value.LoopsJoinByLoad);
    private Loop[] _loops = [];
    private int _turn;

    /// <summary>The native structures are defined for these architectures only.</summary>
    [SupportedOSPlatformGuard("linux")]
    public static bool IsSupported =>
        OperatingSystem.IsLinux() && RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64;

    /// <summary>
    /// The lowest number of a descriptor that is reserved for the process. No connection may have it or a higher one.
    /// </summary>
    [SupportedOSPlatform("linux")]
    public static long DescriptorCeiling => EventLoopListener.DescriptorCeiling;

    /// <summary>The counters of the event loops, by their numbers.</summary>
    public LoopCounters[] Counters => Array.ConvertAll(Volatile.Read(ref _loops), static loop => loop.Counters);

    public bool CanBind(EndPoint endpoint) => endpoint is IPEndPoint or UnixDomainSocketEndPoint;

    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        lock (_gate)
        {
            if (_loops.Length == 0) _loops = StartLoops();
            var listener = new EventLoopListener(endpoint, ChooseLoop(), ChooseLoop, _log);
            _listeners.Add(listener);
            return new ValueTask<IConnectionListener>(listener);
        }
    }

    /// <summary>Changes the silence in seconds before the first keepalive probe; 0 for none. Connections that exist keep theirs.</summary>
    public void SetKeepAlive(int seconds)
    {
        lock (_gate)
        {
            options.Value.KeepAliveSeconds = seconds;
            foreach (EventLoopListener listener in _listeners) listener.SetKeepAlive(seconds);
        }
    }

    /// <summary>
    /// Closes the listening sockets at shutdown, before connections are closed, so that a client that reconnects is refused. It
    /// must not run on an event loop's thread.
    /// </summary>
    public void StopListening()
    {
        lock (_gate)
            Task.WaitAll([.. _listeners.Select(static listener => listener.UnbindAsync().AsTask())], options.Value.StopPatience);
    }

    /// <summary>
    /// Begins shutdown on all event loops, after the server has begun to close the connections. A client receives its pending
    /// output as long as it keeps reading.
    /// </summary>
    public void BeginToEnd()
    {
        foreach (Loop loop in Volatile.Read(ref _loops)) loop.BeginToEnd();
    }

    /// <summary>Releases the pooled buffers, because the next burst may be far away.</summary>
    public void DropSpareBuffers()
    {
        foreach (Loop loop in Volatile.Read(ref _loops)) loop.DropSpareBuffers();
        BufferPool.ClearShared();
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _balance.End();
            foreach (Loop loop in _loops) loop.Stop();
            _loops = [];
        }
    }

    private Loop[] StartLoops()
    {
        var loops = new Loop[Math.Max(options.Value.LoopCount, 1)];
        for (int i = 0; i < loops.Length; i++) loops[i] = new Loop(i, options.Value, _balance, _log);
        _balance.Begin(loops);
        foreach (Loop loop in loops) loop.Start();
        return loops;
    }

    /// <summary>For tests: moves quiet connections to random event loops at the end of a round.</summary>
    internal void Shuffle(Random random)
    {
        Loop[] loops = Volatile.Read(ref _loops);
        foreach (Loop loop in loops)
        {
            int seed = random.Next();
            loop.Post(_ => loop.AtEndOfRound(_ => _balance.Move(loop, c => loops[(uint)HashCode.Combine(seed, c.Fd) % loops.Length]), null), null);
        }
    }

    /// <summary>
    /// Returns the event loop with the fewest connections of those that serve any. Event loops with equal counts take turns.
    /// </summary>
    private Loop ChooseLoop()
    {
        ReadOnlySpan<Loop> loops = _loops.AsSpan(0, _balance.Active);
        uint first = (uint)Interlocked.Increment(ref _turn);
        Loop best = loops[(int)(first % loops.Length)];
        for (uint i = 1; i < loops.Length; i++)
        {
            Loop other = loops[(int)((first + i) % loops.Length)];
            if (other.Connections < best.Connections) best = other;
        }
        return best;
    }
}
