using System.Diagnostics;
using System.Net;

namespace RedisClone.Compare.Load;

/// <summary>
/// The part of a load that one thread runs, with all its connections on one epoll instance. A connection sends a batch of the
/// length of the pipeline, waits for all replies, and sends the next batch. At the end of a run no request is outstanding, so that
/// the processor time that the server used during the run belongs to the counted operations.
/// </summary>
internal sealed class LoadLoop : IDisposable
{
    /// <summary>The number of undelivered messages for each subscriber at which publishers wait.</summary>
    private const int PublishedAhead = 4;

    private static readonly long s_nanosecondsPerTick = 1_000_000_000 / Stopwatch.Frequency;
    private static readonly long s_patience = 30 * Stopwatch.Frequency;

    private readonly LoadPlan _plan;
    private readonly RequestScript _script;
    private readonly LoadConnection[] _connections;
    private readonly Queue<LoadConnection> _idle = new();
    private readonly byte[] _events = new byte[256 * LinuxNative.EpollEventSize];
    private readonly byte[] _buffer = new byte[256 * 1024];
    private readonly int _epoll = LinuxNative.CreateEpoll();

    private long _started;
    private long _deadline;
    private long _requestsLeft;
    private CancellationToken _until;
    private long _batches;
    private long _answered;
    private long _delivered;
    private long _undelivered;
    private int _busy;

    /// <summary>The latencies of the last run.</summary>
    public Histogram Latency { get; private set; } = new();

    public LoadLoop(EndPoint server, LoadPlan plan, int seed)
    {
        _plan = plan;
        _script = new RequestScript(plan.Mix, plan.Pipeline, seed);
        _connections = new LoadConnection[plan.Connections + plan.Subscribers];
        try
        {
            for (int i = 0; i < _connections.Length; i++)
            {
                // The connections start at different steps of the mix, so that they do not send all writes at the same time.
                _connections[i] = LoadConnection.Open(server, isSubscriber: i >= plan.Connections, step: i);
                _connections[i].Watch(_epoll, i);
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    public LoadResult Run(LoadLimit limit)
    {
        Latency = new Histogram();
        _answered = _delivered = _batches = 0;
        _requestsLeft = limit.Requests;
        _until = limit.Until;
        long cpu = LinuxNative.ThreadCpuNanoseconds();
        _started = Stopwatch.GetTimestamp();
        _deadline = _started + (long)(limit.Duration.TotalSeconds * Stopwatch.Frequency);
        _idle.Clear();
        foreach (LoadConnection connection in _connections.AsSpan(0, _plan.Connections))
            _idle.Enqueue(connection);

        long now = _started;
        long progress = now;
        while (true)
        {
            SendDue(now);
            if (_busy == 0 && _undelivered == 0 && IsOver(now))
                break;
            int count = LinuxNative.Wait(_epoll, _events, IsPaced && _idle.Count > 0 ? 0 : 100);
            for (int i = 0; i < count; i++)
                Handle(LinuxNative.EventAt(_events, i));
            now = Stopwatch.GetTimestamp();
            progress = count > 0 || _busy + _undelivered == 0 ? now : progress;
            if (now - progress > s_patience)
                throw new LoadException($"no reply in {Stopwatch.GetElapsedTime(progress, now).TotalSeconds:0} s");
        }

        long operations = _plan.Subscribers > 0 ? _delivered : _answered / _plan.RequestsPerOperation;
        return new LoadResult(
            operations, Stopwatch.GetElapsedTime(_started, now), LinuxNative.ThreadCpuNanoseconds() - cpu, Latencies.Of(Latency));
    }

    public void Dispose()
    {
        foreach (LoadConnection? connection in _connections)
            connection?.Dispose();
        LinuxNative.Close(_epoll);
    }

    private bool IsPaced => _plan.RatePerSecond > 0;

    private bool IsOver(long now) => now >= _deadline || _requestsLeft <= 0 || _until.IsCancellationRequested;

    /// <summary>Returns the time at which the next batch is due. With a given rate, a stall of the server thereby counts as latency.</summary>
    private long DueAt(long now) =>
        IsPaced ? _started + (long)(_batches * (double)_plan.Pipeline / _plan.RatePerSecond * Stopwatch.Frequency) : now;

    private void SendDue(long now)
    {
        while (_idle.Count > 0 && !IsOver(now) && _undelivered < (long)PublishedAhead * _plan.Subscribers + 1)
        {
            long due = DueAt(now);
            if (due > now)
                return;
            LoadConnection connection = _idle.Dequeue();
            connection.SentAt = due;
            connection.Outstanding = _plan.Pipeline;
            connection.Send(_script.Prepare(connection.Step++));
            if (connection.HasUnsent)
                connection.Watch(_epoll, Array.IndexOf(_connections, connection), modify: true);
            _busy++;
            _batches++;
            _requestsLeft -= _plan.Pipeline;
            _undelivered += (long)_plan.Pipeline * _plan.Subscribers;
        }
    }

    private void Handle((uint Events, long Index) ready)
    {
        LoadConnection connection = _connections[ready.Index];
        if ((ready.Events & LinuxNative.Writable) != 0)
        {
            connection.SendRest();
            if (!connection.HasUnsent)
                connection.Watch(_epoll, (int)ready.Index, modify: true);
        }

        int replies = connection.Receive(_buffer);
        if (replies == 0)
            return;
        if (connection.IsSubscriber)
        {
            _delivered += replies;
            _undelivered -= replies;
            return;
        }

        long now = Stopwatch.GetTimestamp();
        Latency.Record((now - connection.SentAt) * s_nanosecondsPerTick, replies);
        _answered += replies;
        connection.Outstanding -= replies;
        if (connection.Outstanding == 0)
        {
            _busy--;
            _idle.Enqueue(connection);
            SendDue(now);
        }
    }
}
