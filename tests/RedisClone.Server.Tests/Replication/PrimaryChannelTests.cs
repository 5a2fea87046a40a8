using RedisClone.Engine.Replication.Following;

namespace RedisClone.Server.Tests.Replication;

/// <summary>The reads of the connection to a primary.</summary>
public sealed class PrimaryChannelTests
{
    /// <summary>
    /// A sender that is always faster than the receiver does not keep the thread on which the receiver began: it may be the one that
    /// completes the operations of all sockets.
    /// </summary>
    [Fact]
    public async Task AFastSenderLeavesTheThreadOfTheSockets()
    {
        using var returned = new ManualResetEventSlim();
        using var connection = new EndlessConnection(returned);
        using var channel = new PrimaryChannel(connection);
        Task? reading = null;
        var sockets = new Thread(() =>
        {
            reading = ReadTwiceAsync(channel);
            returned.Set();
        });
        sockets.Start();
        sockets.Join();
        await reading!;
        Assert.True(connection.WasFree);
    }

    private static async Task ReadTwiceAsync(PrimaryChannel channel)
    {
        for (int i = 0; i < 2; i++)
        {
            await channel.FillAsync(CancellationToken.None);
            channel.Advance(channel.Count);
        }
    }

    /// <summary>A connection that always has input.</summary>
    private sealed class EndlessConnection(ManualResetEventSlim returned) : MemoryStream, IPrimaryConnection
    {
        private int _reads;

        /// <summary>Whether the thread of the first read had returned before the second one ended.</summary>
        public bool WasFree { get; private set; }

        public Stream Stream => this;

        public string PeerName => "peer:1";

        public string LocalName => "local:1";

        public long Descriptor => -1;

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            if (++_reads == 2) WasFree = returned.Wait(TimeSpan.FromSeconds(10), cancellationToken);
            return ValueTask.FromResult(1);
        }
    }
}
