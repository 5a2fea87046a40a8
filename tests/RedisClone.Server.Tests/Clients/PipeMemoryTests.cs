using System.Buffers;
using System.Collections.Concurrent;
using System.Diagnostics.Tracing;

namespace RedisClone.Server.Tests.Clients;

/// <summary>
/// The pipes of Kestrel, which TLS uses too, take their memory from a pool of this server. The runtime's shared pool keeps large arrays for
/// a minute or more, so they would keep a limited heap full after the clients have gone.
/// </summary>
[Collection(nameof(PipeMemoryTests))]
public sealed class PipeMemoryTests
{
    private const int Clients = 4, ValueLength = 5_000_000;

    /// <summary>More than SslStream and parts of messages take.</summary>
    private const int Large = 128 * 1024;

    [Fact]
    public async Task LargeRepliesTakeNoArraysOfTheSharedPool()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Sockets);
        using TestClient reader = server.Connect();
        Assert.Equal("OK", reader.Call("SET", "big", new string('x', ValueLength)));
        var rents = new SharedPoolRents();
        string reply;
        using (rents)
        {
            TestClient[] unread = [.. Enumerable.Range(0, Clients).Select(_ => server.Connect())];
            foreach (TestClient client in unread) client.Send("GET", "big");
            reply = reader.Run("GET big");
            foreach (TestClient client in unread) client.Dispose();
            // The listener works.
            ArrayPool<byte>.Shared.Return(ArrayPool<byte>.Shared.Rent(Large));
        }
        Assert.Equal(ValueLength, reply.Length);
        Assert.Equal([Large], rents.Sizes);
    }

    /// <summary>Notes the large arrays that are rented from the shared pool of the process.</summary>
    private sealed class SharedPoolRents : EventListener
    {
        public ConcurrentQueue<int> Sizes { get; } = [];

        protected override void OnEventSourceCreated(EventSource eventSource)
        {
            if (eventSource.Name == "System.Buffers.ArrayPoolEventSource") EnableEvents(eventSource, EventLevel.Verbose);
        }

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            if (eventData.EventName == "BufferRented" && eventData.Payload is [_, int size, int pool, ..]
                && pool == ArrayPool<byte>.Shared.GetHashCode() && size >= Large) Sizes.Enqueue(size);
        }
    }
}

/// <summary>No other test takes memory of the process meanwhile.</summary>
[CollectionDefinition(nameof(PipeMemoryTests), DisableParallelization = true)]
public sealed class PipeMemoryDefinition;
