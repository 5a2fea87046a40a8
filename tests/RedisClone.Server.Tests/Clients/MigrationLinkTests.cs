using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Migrating;
using RedisClone.Engine.Replication.Following;

namespace RedisClone.Server.Tests.Clients;

/// <summary>How MIGRATE finds out that its connection leads to the server itself.</summary>
public sealed class MigrationLinkTests
{
    /// <summary>A client may have the same local port as a connection to another server.</summary>
    [Fact]
    public async Task AClientWithTheSamePortIsNotTheConnection()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("PING");
        Session session = server.Core.Sessions.Unordered.Single();
        long later = ServerCore.UnixMilliseconds() + 1000;
        Assert.True(LeadsHere(session.LocalName, later));
        Assert.False(LeadsHere("127.0.0.1:1", later));
        // Behind a translated address, the connection is found by its time.
        Assert.True(LeadsHere("127.0.0.1:1", session.CreatedAt));

        bool LeadsHere(string target, long began)
        {
            using var link = new MigrationLink("target", new Connection(target, session.PeerName)) { BeganAt = began };
            return server.Core.MigrationLinks.LeadsHere(link);
        }
    }

    private sealed class Connection(string peer, string local) : IPrimaryConnection
    {
        public Stream Stream => Stream.Null;

        public string PeerName => peer;

        public string LocalName => local;

        public long Descriptor => -1;

        public void Dispose()
        {
        }
    }
}
