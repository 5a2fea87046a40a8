using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Effects;

namespace RedisClone.Engine.Cluster.Bus;

/// <summary>The links to other nodes: opens and accepts them, sends to them, and counts messages.</summary>
internal sealed class ClusterBus(ServerCore server, ClusterMember cluster)
{
    /// <summary>The longest message of a link whose node is not known: a ping with some 2,500 rows.</summary>
    private const int LongestFromStranger = 256 << 10;

    private const int MostInbound = 10_000;

    private readonly Receiver _receiver = new(server, cluster);
    private readonly SharedList<BusLink> _inbound = [];
    private readonly long[] _sent = new long[MessageTypes.Count], _received = new long[MessageTypes.Count];
    private long _refused, _overLimit;

    public IBusConnector? Connector { get; set; }

    public MessageBuilder Messages { get; } = new(server, cluster);

    public IEnumerable<BusLink> Inbound => _inbound;

    /// <summary>The number of links that were closed because their input was no message of the bus.</summary>
    public long Refused => Interlocked.Read(ref _refused);

    public long OverLimit => Interlocked.Read(ref _overLimit);

    public long PendingBytes => cluster.State.All.Sum(static node => (node.Link?.PendingBytes ?? 0) + (node.Inbound?.PendingBytes ?? 0));

    public int LinkCount => _inbound.Count + cluster.State.All.Count(static node => node.Link is not null);

    public long SentOf(int type) => Interlocked.Read(ref _sent[type]);

    public long ReceivedOf(int type) => Interlocked.Read(ref _received[type]);

    public void CountRefused() => Interlocked.Increment(ref _refused);

    public long LongestMessage(bool isKnown) =>
        isKnown ? MessageLayout.Header + MessageLayout.PublishLengths + 2 * server.Config.ProtoMaxBulkLen : LongestFromStranger;

    /// <summary>Waits while DEBUG SLEEP stops this node.</summary>
    public ValueTask AwaitWakingAsync(CancellationToken end) => server.Debug.AwaitWakingAsync(end);

    /// <summary>Serves a connection of another node until it ends.</summary>
    public async Task AcceptAsync(IBusConnection connection)
    {
        if (!cluster.HasBegun || _inbound.Count >= MostInbound)
        {
            CountRefused();
            connection.Dispose();
            return;
        }
        var link = new BusLink(this, node: null, ServerCore.UnixMilliseconds());
        lock (_inbound) _inbound.Add(link);
        try
        {
            await link.RunAsync(connection).ConfigureAwait(false);
        }
        finally
        {
            lock (_inbound) _inbound.Remove(link);
            lock (cluster.Gate) link.Close();
        }
    }

    /// <summary>Opens a link to a node. The caller holds the lock of the cluster.</summary>
    public void Open(ClusterNode node)
    {
        if (Connector is not { } connector) return;
        var link = new BusLink(this, node, ServerCore.UnixMilliseconds());
        node.Link = link;
        _ = Task.Run(() => ConnectAsync(connector, link, node.Ip, node.BusPort));
    }

    /// <summary>
    /// Takes a message; false if the link must be closed. It is called by the thread that received the message.
    /// </summary>
    public bool Receive(BusLink link, ReadOnlySpan<byte> bytes)
    {
        if (!BusMessage.TryRead(bytes, out BusMessage message))
        {
            // A later version of a known node may send more than this one knows.
            CountRefused();
            return link.Node is not null;
        }
        Interlocked.Increment(ref _received[(int)message.Type]);
        if ((long)message.Type == server.Debug.IgnoredBusMessages) return true;
        if (message.Type is MessageType.Publish or MessageType.PublishShard)
        {
            _receiver.TakePublished(link, message);
            return true;
        }
        lock (cluster.Gate)
        {
            if (link.IsClosed) return false;
            bool stays = _receiver.Take(link, message);
            if (!stays) link.Close();
            cluster.Finish(maySaveLater: true);
        }
        return !link.IsClosed;
    }

    public void Send(BusLink? link, MessageType type, byte[] message)
    {
        if (link is null) return;
        Interlocked.Increment(ref _sent[(int)type]);
        link.Send(message);
    }

    public void SendPing(BusLink link, MessageType type)
    {
        if (!link.IsInbound && type == MessageType.Ping && link.Node is { } node) node.PingSent = ServerCore.UnixMilliseconds();
        Send(link, type, Messages.Ping(type, link));
    }

    /// <summary>Sends a ping, or MEET. The time of an unanswered ping stays, so that failures are still detected.</summary>
    public void PingAgain(BusLink link, MessageType type)
    {
        ClusterNode node = link.Node!;
        long unanswered = node.PingSent;
        SendPing(link, type);
        if (unanswered > 0) node.PingSent = unanswered;
    }

    public void Broadcast(MessageType type, byte[] message)
    {
        foreach (ClusterNode node in cluster.State.All)
            if (!node.Has(NodeFlags.Myself | NodeFlags.Handshake)) Send(node.Link, type, message);
    }

    /// <summary>Tells nodes the state of this node at once.</summary>
    public void BroadcastPong(Func<ClusterNode, bool>? to = null)
    {
        foreach (ClusterNode node in cluster.State.All)
            if (node.Link is { } link && !node.Has(NodeFlags.Myself | NodeFlags.Handshake) && to?.Invoke(node) != false) SendPing(link, MessageType.Pong);
    }

    /// <summary>Passes a published message to the other nodes, after the effects of the unit that it is part of.</summary>
    public void Publish(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> text, bool toShard, Lane lane)
    {
        byte[] message = Messages.Publish(channel, text, toShard);
        string shard = cluster.State.Myself.ShardId;
        MessageType type = toShard ? MessageType.PublishShard : MessageType.Publish;
        foreach (ClusterNode node in cluster.State.All)
        {
            if (node.Link is not { } link || node.Has(NodeFlags.Myself | NodeFlags.Handshake) || toShard && node.ShardId != shard) continue;
            Interlocked.Increment(ref _sent[(int)type]);
            if (!lane.Messages.TryAdd(link, message)) link.Send(message);
        }
    }

    /// <summary>Closes links with too much output, and inbound links that have sent nothing. The caller holds the lock.</summary>
    public void TendLinks(long now, long patience)
    {
        long limit = server.Config.ClusterLinkSendbufLimit;
        foreach (BusLink link in _inbound)
        {
            bool isOver = limit > 0 && link.PendingBytes > limit;
            if (isOver) Interlocked.Increment(ref _overLimit);
            if (isOver || !link.HasReceived && now - link.CreatedAt > patience) link.Close();
        }
        foreach (ClusterNode node in cluster.State.All)
        {
            if (limit == 0 || node.Link is not { } link || link.PendingBytes <= limit) continue;
            Interlocked.Increment(ref _overLimit);
            link.Close();
        }
    }

    public void CloseAll()
    {
        foreach (BusLink link in _inbound) link.Abort();
        foreach (ClusterNode node in cluster.State.All) node.Link?.Abort();
    }

    private async Task ConnectAsync(IBusConnector connector, BusLink link, string ip, int port)
    {
        IBusConnection? connection = null;
        try
        {
            using var limit = CancellationTokenSource.CreateLinkedTokenSource(link.End);
            limit.CancelAfter(TimeSpan.FromMilliseconds(Math.Max(1000, server.Config.ClusterNodeTimeout)));
            connection = await connector.ConnectAsync(ip, port, limit.Token).ConfigureAwait(false);
        }
        catch (Exception failure) when (failure is IOException or OperationCanceledException or ObjectDisposedException)
        {
        }
        catch (Exception bug)
        {
            server.Failures.WorkFailed("A link of the cluster bus failed unexpectedly", bug);
        }
        lock (cluster.Gate)
        {
            if (connection is null || link.IsClosed)
            {
                // A node that cannot be reached counts as silent from now on.
                if (link.Node is { PingSent: 0 } silent && !link.IsClosed) silent.PingSent = ServerCore.UnixMilliseconds();
                link.Close();
                connection?.Dispose();
                return;
            }
            Greet(link);
        }
        try
        {
            await link.RunAsync(connection).ConfigureAwait(false);
        }
        finally
        {
            lock (cluster.Gate) link.Close();
        }
    }

    /// <summary>Sends the first message of a new link.</summary>
    private void Greet(BusLink link)
    {
        ClusterNode node = link.Node!;
        PingAgain(link, node.Has(NodeFlags.Meet) ? MessageType.Meet : MessageType.Ping);
        node.Flags &= ~NodeFlags.Meet;
    }
}
