using System.Globalization;
using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Durability;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Disk;
using RedisClone.Protocol;

namespace RedisClone.Engine.Replication.Following;

/// <summary>The states of the link to a primary, by the names that ROLE shows.</summary>
internal enum LinkState
{
    Connect,
    Connecting,
    Handshake,
    Sync,
    Connected,
}

/// <summary>
/// Follows one primary: connects, copies all data or continues, and applies the stream. When the link breaks, it begins again
/// after a pause. A server that gets another role or primary replaces its follower.
/// </summary>
internal sealed class Follower(ServerCore server, IPrimaryConnector connector, ReplicaOf primary) : IStreamOwner
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);
    private const long LongestPause = 30_000;

    private readonly CancellationTokenSource _end = new();
    private PrimaryChannel? _channel;
    private FullCopy? _copy;
    private DurableOffset _durable = new();
    private long _flushed;              // the durable offset that was acknowledged last
    private long _nextSign;
    private volatile bool _isLoading, _loadsBeside;
    private RetryTime _copies = new((long)Pause.TotalMilliseconds, LongestPause);
    private long _connectedAt;          // in Unix milliseconds
    private bool _forgets;              // all data must be copied again
    private volatile LinkState _state;

    public LinkState State => _state;

    /// <summary>
    /// The time since when no link to a primary of this server is up, in Unix milliseconds; 0 if none ever was. A follower takes it over
    /// from the one that it replaces.
    /// </summary>
    public long DownSince { get; set; }

    /// <summary>Whether a snapshot is loaded while the old data is served.</summary>
    public bool LoadsBeside => _loadsBeside;

    /// <summary>The copy in progress, or null.</summary>
    public FullCopy? Copy => Volatile.Read(ref _copy);

    /// <summary>The time of the last input in Unix milliseconds, or 0.</summary>
    public long LastInput => Volatile.Read(ref _channel)?.LastInput ?? 0;

    /// <summary>Received bytes that are not applied yet.</summary>
    public long Waiting => _state == LinkState.Connected ? Volatile.Read(ref _channel)?.Count ?? 0 : 0;

    public void Start() => _ = Task.Run(RunAsync);

    /// <summary>Ends the link. Nothing of the stream is applied after the caller's hold of all shards.</summary>
    public void Stop()
    {
        _end.Cancel();
        Volatile.Read(ref _channel)?.Dispose();
    }

    /// <summary>Sends signs of life and detects a primary that is silent; called in every round of background work.</summary>
    public void Tend(long now)
    {
        if (Volatile.Read(ref _channel) is not { } channel) return;
        if (channel.IsSilent(now, server.Config.ReplTimeout * 1000L))
        {
            server.Log.LogWarning("{Reason}", _state switch
            {
                LinkState.Connected => "MASTER timeout: no data nor PING received...",
                LinkState.Sync => "Timeout receiving bulk data from MASTER... If the problem persists try to set 'repl-timeout' to a larger value.",
                _ => "Timeout connecting to the MASTER...",
            });
            channel.Dispose();
            return;
        }
        // A client of the primary may wait until the disk of this server has its writes.
        bool hasFlushed = _state == LinkState.Connected && server.Journal is { } journal && _durable.At(journal.SafeLsn) > _flushed;
        if (now < _nextSign && !hasFlushed) return;
        _nextSign = now + 1000;
        if (_state == LinkState.Connected) channel.Post(Acknowledgement());
        else if (_isLoading) channel.Post([(byte)'\n']);
    }

    bool IStreamOwner.IsCurrent => server.Role.IsCurrent(this);

    /// <summary>
    /// A primary sends what changes data, scripts and functions, and messages of channels. redis-server also runs any other command of its
    /// primary, but a primary has no reason to send one that manages the server or the connection.
    /// </summary>
    string? IStreamOwner.Refuse(CommandRow row, in Request request, int database)
    {
        const CommandFlags ofData = CommandFlags.Write | CommandFlags.ReadOnly | CommandFlags.MayReplicate;
        bool isOfStream = row.Has(ofData) || row.Group == "scripting" || row.Name == "ping";
        return isOfStream ? null : $"the master sent '{row.FullName}', which is not part of a stream";
    }

    void IStreamOwner.Applied(ReadOnlySpan<byte> bytes, int database)
    {
        server.Role.StreamDatabase = database;
        server.Replicas.Stream.Pass(bytes);
        Applied();
    }

    void IStreamOwner.LeftPart() => server.Role.NotePart();

    async ValueTask<bool> IStreamOwner.AnswerAsync()
    {
        await AcknowledgeAsync().ConfigureAwait(false);
        return true;
    }

    /// <summary>Tells the primary the offset that is applied here.</summary>
    private async ValueTask AcknowledgeAsync() => await _channel!.SendAsync(Acknowledgement(), _end.Token).ConfigureAwait(false);

    /// <summary>Notes that the stream is applied up to its present end. The caller holds every shard.</summary>
    private void Applied()
    {
        if (server.Journal is { } journal) _durable.Note(journal.Engine.Lsn, server.Replicas.Stream.Offset);
    }

    /// <summary>REPLCONF ACK with the applied offset, and with a journal FACK with the durable one.</summary>
    private byte[] Acknowledgement()
    {
        string[] words = ["REPLCONF", "ACK", server.Replicas.Stream.Offset.ToString(CultureInfo.InvariantCulture)];
        if (server.Journal is { } journal)
        {
            _flushed = _durable.At(journal.SafeLsn);
            words = [.. words, "FACK", _flushed.ToString(CultureInfo.InvariantCulture)];
        }
        return PrimaryChannel.Command(words);
    }

    private async Task RunAsync()
    {
        while (!_end.IsCancellationRequested)
        {
            try
            {
                TimeSpan pause = await AttemptAsync().ConfigureAwait(false);
                if (pause > TimeSpan.Zero) await Task.Delay(pause, _end.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }
            catch (OutOfMemoryException)
            {
                // The log and the timer need memory too.
                Thread.Sleep(Pause);
            }
        }
    }

    /// <summary>Follows the primary until the link ends. Returns the time to wait before the next attempt.</summary>
    private async Task<TimeSpan> AttemptAsync()
    {
        ForgetIfDue();
        Exception? failure = null;
        try
        {
            await FollowAsync().ConfigureAwait(false);
        }
        catch (Exception e)
        {
            failure = e;
        }
        // The log may fail for lack of memory, so it comes after the state.
        long now = ServerCore.UnixMilliseconds();
        bool wasConnected = _state == LinkState.Connected, isLost = failure is IOException or ObjectDisposedException or UnauthorizedAccessException;
        bool isWrong = failure is not null && !isLost && failure is not OperationCanceledException;
        _forgets |= isWrong;
        if (wasConnected) DownSince = now;
        _state = LinkState.Connect;
        Volatile.Write(ref _channel, null);
        if (isLost && !_end.IsCancellationRequested) server.Log.LogWarning("{Reason}", failure!.Message);
        else if (failure is InvalidDataException) server.Log.LogWarning("Replication stops, and all data is copied again: {Reason}", failure.Message);
        else if (isWrong) server.Failures.WorkFailed("Replication failed unexpectedly", failure!);
        // Each copy is work for the primary and for the network.
        bool isInVain = failure is UnloadableCopyException || wasConnected && isWrong;
        if (!isInVain || wasConnected && now - _connectedAt > LongestPause) _copies.Succeeded();
        if (isInVain) _copies.Failed(now, doubles: true);
        ForgetIfDue();
        // A primary that has just become one closes its connections and expects them again.
        if (isLost && wasConnected) return TimeSpan.Zero;
        return isInVain ? TimeSpan.FromMilliseconds(_copies.Delay) : Pause;
    }

    private void ForgetIfDue()
    {
        while (_forgets && !TryForget()) Thread.Sleep(Pause);
        _forgets = false;
    }

    /// <summary>Makes the next attempt copy all data. False if memory is missing even for that.</summary>
    private bool TryForget()
    {
        try
        {
            Held(() => server.Role.ForgetPosition(this));
            return true;
        }
        catch (OperationCanceledException)
        {
            // Another follower has taken over.
            return true;
        }
        catch (OutOfMemoryException failure)
        {
            server.Failures.WorkFailed("The position in the stream of the primary could not be reset", failure);
            return false;
        }
    }

    private async Task FollowAsync()
    {
        await server.Debug.AwaitWakingAsync(_end.Token).ConfigureAwait(false);
        _state = LinkState.Connecting;
        server.Log.LogInformation("Connecting to MASTER {Host}:{Port}", primary.Host, primary.Port);
        using IPrimaryConnection connection = await ConnectAsync().ConfigureAwait(false);
        using var channel = new PrimaryChannel(connection);
        Volatile.Write(ref _channel, channel);
        server.Log.LogInformation("MASTER <-> REPLICA sync started");
        _state = LinkState.Handshake;
        var handshake = new Handshake(channel, server.Config, server.Log, _end.Token);
        await handshake.IntroduceAsync().ConfigureAwait(false);
        (string history, long from) = server.Role.Position;
        Offer offer = server.Failover.IsInProgress
            ? await HandOverAsync(handshake, history, from).ConfigureAwait(false)
            : await handshake.RequestAsync(history, from, takesOver: false).ConfigureAwait(false);
        if (!offer.IsContinue) await CopyAsync(channel, offer).ConfigureAwait(false);
        else if (offer.History.Length > 0) Held(() => server.Role.Continue(offer.History));
        (_durable, _flushed) = (new DurableOffset(), 0);
        Held(Applied);
        var run = new StreamRun(server, connection, channel.Dispose);
        server.Sessions.Add(run.Client.Session);
        try
        {
            _state = LinkState.Connected;
            _connectedAt = ServerCore.UnixMilliseconds();
            _nextSign = _connectedAt + 1000;
            await AcknowledgeAsync().ConfigureAwait(false);
            await new StreamApplier(server, this, channel, run, server.Role.StreamDatabase).RunAsync(_end.Token).ConfigureAwait(false);
        }
        finally
        {
            server.Sessions.Remove(run.Client.Session);
        }
    }

    /// <summary>
    /// Asks the server, which was this server's replica, to take over. If it refuses, this server becomes the primary again. If the
    /// connection is lost before the answer, the server may have taken over, so the next connection asks again. From then on, only an answer that
    /// no primary gives is a refusal.
    /// </summary>
    private async Task<Offer> HandOverAsync(Handshake handshake, string history, long from)
    {
        bool isFirst = server.Failover.NoteRequest();
        try
        {
            Offer offer = await RequestTakeoverAsync(handshake, history, from).ConfigureAwait(false);
            Held(server.Failover.Accepted);
            return offer;
        }
        catch (Exception e) when ((e is RefusedStreamException { IsOfReplica: true } || isFirst && e is RefusedStreamException or InvalidDataException)
            && !_end.IsCancellationRequested)
        {
            server.Log.LogWarning("{Reason}", e.Message);
            Held(() => server.Failover.Abort("Failover target rejected psync request"));
            throw;
        }
    }

    private async Task<Offer> RequestTakeoverAsync(Handshake handshake, string history, long from)
    {
        try
        {
            return await handshake.RequestAsync(history, from, takesOver: true).ConfigureAwait(false);
        }
        catch (RefusedStreamException answer) when (answer.IsPrimaryAlready)
        {
            // It took over at an earlier request, whose answer was lost. Whatever it answers from here on, this server does not lead again.
            Held(server.Failover.Accepted);
            return await handshake.RequestAsync(history, from, takesOver: false).ConfigureAwait(false);
        }
    }

    private async Task<IPrimaryConnection> ConnectAsync()
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(_end.Token);
        limit.CancelAfter(TimeSpan.FromSeconds(server.Config.ReplTimeout));
        try
        {
            return await connector.ConnectAsync(primary.Host, primary.Port, server.Config.TlsReplication, limit.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!_end.IsCancellationRequested)
        {
            throw new IOException("Timeout connecting to the MASTER...");
        }
    }

    /// <summary>Receives a snapshot and replaces all data by it.</summary>
    private async Task CopyAsync(PrimaryChannel channel, Offer offer)
    {
        _state = LinkState.Sync;
        DisklessLoad mode = server.Config.ReplDisklessLoad;
        bool isDiskless = mode == DisklessLoad.Swap || mode == DisklessLoad.OnEmptyDatabase && !server.Snapshots.HasKeys;
        var copy = new FullCopy(channel, _end.Token);
        Volatile.Write(ref _copy, copy);
        try
        {
            server.Log.LogInformation("MASTER <-> REPLICA sync: receiving the snapshot of the master");
            await copy.BeginAsync().ConfigureAwait(false);
            var load = new CopyLoad(server, this, offer, Held);
            if (isDiskless) await LoadBesideAsync(copy, load).ConfigureAwait(false);
            else await LoadFileAsync(copy, load).ConfigureAwait(false);
            server.Log.LogInformation("MASTER <-> REPLICA sync: Finished with success");
        }
        finally
        {
            _isLoading = _loadsBeside = false;
            Volatile.Write(ref _copy, null);
        }
    }

    private async Task LoadFileAsync(FullCopy copy, CopyLoad load)
    {
        string path = server.Snapshots.TemporaryPath(Snapshots.FromPrimary);
        try
        {
            using IDiskFile file = OpenNew(path);
            await copy.ReceiveAsync(file).ConfigureAwait(false);
            server.Log.LogInformation("MASTER <-> REPLICA sync: Loading DB in memory, {Bytes} bytes", copy.BytesRead);
            _isLoading = true;
            await OnOwnThread(() => load.Replace(file)).ConfigureAwait(false);
        }
        finally
        {
            server.Disk.Delete(path);
        }
    }

    private IDiskFile OpenNew(string path)
    {
        try
        {
            return server.Disk.Open(path, DiskOpen.New);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            throw UnloadableCopyException.Unwritable(failure);
        }
    }

    private async Task LoadBesideAsync(FullCopy copy, CopyLoad load)
    {
        _isLoading = _loadsBeside = true;
        server.Log.LogInformation("MASTER <-> REPLICA sync: Loading DB in memory while it is received");
        var beside = new CopyBeside(server);
        // The load waits for the connection, so it must not run on the thread that completes the connection's reads.
        string? failure = null;
        await OnOwnThread(() => failure = beside.Load(copy)).ConfigureAwait(false);
        if (failure is null && !await copy.HasEndedAsync().ConfigureAwait(false)) failure = "data follows the end of the snapshot";
        if (failure is not null)
        {
            string reason = $"The snapshot of the master cannot be loaded, the old data stays: {failure}";
            throw failure == LoadRoom.LacksMemory ? new UnloadableCopyException(reason) : new IOException(reason);
        }
        load.Publish(beside);
    }

    /// <summary>A load takes long and waits. On a thread of a small pool, it would delay the commands of clients.</summary>
    private static Task OnOwnThread(Action load) =>
        Task.Factory.StartNew(load, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    /// <summary>Runs an action while every shard is held, if this server still follows this primary.</summary>
    private void Held(Action action) => new HeldAction(server.Shards, () =>
    {
        if (!server.Role.IsCurrent(this)) throw new OperationCanceledException();
        action();
    }).RunAndWait();
}
