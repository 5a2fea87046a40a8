using RedisClone.Configuration;
using RedisClone.Engine.Replication.Following;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>A connection to the other node of a slot migration, with the password and the encryption of replication.</summary>
internal sealed class SlotLink : IDisposable
{
    private SlotLink(IPrimaryConnection connection, Handshake handshake, PrimaryChannel channel) =>
        (Connection, Handshake, Channel) = (connection, handshake, channel);

    public IPrimaryConnection Connection { get; }

    public PrimaryChannel Channel { get; }

    private Handshake Handshake { get; }

    /// <summary>Connects and authenticates. Every failure is an <see cref="IOException"/>.</summary>
    public static async Task<SlotLink> OpenAsync(ServerCore server, ReplicaOf? node, CancellationToken end, int usualSize = PrimaryChannel.StreamSize)
    {
        if (node is null || server.Role.Connector is not { } connector) throw new IOException("The address of the node is not known");
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(end);
        limit.CancelAfter(TimeSpan.FromMilliseconds(server.Config.ClusterNodeTimeout));
        IPrimaryConnection? connection = null;
        try
        {
            connection = await connector.ConnectAsync(node.Host, node.Port, server.Config.TlsReplication, limit.Token).ConfigureAwait(false);
            var channel = new PrimaryChannel(connection, usualSize);
            var link = new SlotLink(connection, new Handshake(channel, server.Config, server.Log, end), channel);
            await new Handshake(channel, server.Config, server.Log, limit.Token).LogInAsync().ConfigureAwait(false);
            return link;
        }
        catch (Exception failure)
        {
            connection?.Dispose();
            if (failure is OperationCanceledException && !end.IsCancellationRequested) throw new IOException("The node does not answer");
            throw;
        }
    }

    /// <summary>Sends CLUSTER SLOTSTREAM and returns the first line of the reply.</summary>
    public Task<string> AskAsync(string word, string id, params IEnumerable<string> more) => Handshake.AskAsync(Command(word, id, more));

    /// <summary>Sends CLUSTER SLOTSTREAM, which has no reply.</summary>
    public void Post(string word, params IEnumerable<string> more) => Channel.Post(PrimaryChannel.Command(Command(word, null, more)));

    private static string[] Command(string word, string? id, IEnumerable<string> more) =>
        id is null ? ["CLUSTER", "SLOTSTREAM", word, .. more] : ["CLUSTER", "SLOTSTREAM", word, id, .. more];

    public void Dispose() => Channel.Dispose();
}
