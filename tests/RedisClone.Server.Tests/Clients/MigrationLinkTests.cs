using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Migrating;
using RedisClone.Engine.Replication.Following;
using RedisClone.Server.Tests.Commands;
using RedisClone.Server.Tests.Replication;

namespace RedisClone.Server.Tests.Clients;

/// <summary>The connections of MIGRATE.</summary>
public sealed class MigrationLinkTests
{
    /// <summary>redis-cli moves a slot by thousands of MIGRATE with a timeout of a minute. Nothing of one that has ended stays until then.</summary>
    [Fact]
    public async Task ATransferLeavesNoTimer()
    {
        const int runs = 2000;
        var host = new CommandHost();
        host.Core.Role.Connector = new ScriptedPeer("none", []);
        var target = new MigrationTarget("127.0.0.1", "1", Database: 0, User: null, Password: null);
        long before = Timer.ActiveCount;
        for (int i = 0; i < runs; i++)
        {
            var migration = new Migration(host.Core.MigrationLinks, target, TimeSpan.FromHours(1));
            migration.Keys.Add(new MigratedKey("key"u8.ToArray()) { Payload = "value"u8.ToArray() });
            await migration.RunAsync(CancellationToken.None);
            Assert.Null(migration.Error);
        }
        // Other tests have timers too.
        Assert.True(Timer.ActiveCount - before < runs, $"{Timer.ActiveCount - before} timers");
    }

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
