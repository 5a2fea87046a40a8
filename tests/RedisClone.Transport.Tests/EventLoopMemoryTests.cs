using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Transport.Tests;

/// <summary>The memory of idle and of closed connections. Runs alone because it reads the size of the whole heap.</summary>
[Collection(nameof(EventLoopMemoryTests))]
[CollectionDefinition(nameof(EventLoopMemoryTests), DisableParallelization = true)]
public sealed class EventLoopMemoryTests
{
    [Fact]
    public async Task IdleConnectionsHoldNoBuffers()
    {
        const int Count = 2000;
        await using var host = await TransportHost.StartAsync(Transfer.EchoAsync);
        var sockets = new List<Socket>();
        long before = GC.GetTotalMemory(forceFullCollection: true);
        for (int i = 0; i < Count; i++)
        {
            var socket = host.Connect();
            socket.Send("hello"u8);
            socket.ReceiveExactly(5);
            sockets.Add(socket);
        }
        // A buffer has 16 KB. The limit leaves room for the sockets of the clients and for objects of Kestrel.
        long perConnection = (GC.GetTotalMemory(forceFullCollection: true) - before) / Count;
        Assert.True(perConnection < 8 * 1024, $"{perConnection} bytes a connection");
        sockets.ForEach(socket => socket.Dispose());
    }

    [Fact]
    public async Task BufferOfAnIncompleteRequestIsReused()
    {
        const int Count = 200;
        var buffers = new ConcurrentDictionary<byte[], bool>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            var read = await connection.Transport.Input.ReadAsync();
            if (MemoryMarshal.TryGetArray(read.Buffer.First, out var piece)) buffers.TryAdd(piece.Array!, true);
            connection.Transport.Input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
        });
        for (int i = 0; i < Count; i++)
        {
            using var socket = host.Connect();
            socket.Send("half a req"u8);
            socket.ReceiveToEnd();
        }
        Assert.InRange(buffers.Count, 1, Count / 10);
    }

    /// <summary>The connection stays open and reads no more, so nothing but its last read could refer to the array.</summary>
    [Fact]
    public async Task ConsumedInputIsNotKept()
    {
        const int Size = 4 << 20; // no pool keeps so large an array
        var consumed = new TaskCompletionSource<WeakReference>();
        var end = new TaskCompletionSource();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            consumed.SetResult(await ConsumeAsync(connection.Transport.Input, Size));
            await end.Task;
        });
        using var socket = host.Connect();
        Task sent = Transfer.OnOwnThread(() => socket.Send(new byte[Size]));
        WeakReference array = await consumed.Task.WaitAsync(Transfer.Patience);
        await sent;
        await Transfer.EventuallyAsync(() =>
        {
            GC.Collect();
            return !array.IsAlive;
        });
        end.SetResult();
    }

    private static async Task<WeakReference> ConsumeAsync(PipeReader input, int size)
    {
        while (true)
        {
            ReadResult read = await input.ReadAsync();
            if (read.Buffer.Length < size)
            {
                input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                continue;
            }
            Assert.True(MemoryMarshal.TryGetArray(read.Buffer.First, out ArraySegment<byte> piece));
            input.AdvanceTo(read.Buffer.End);
            return new WeakReference(piece.Array);
        }
    }

    [Fact]
    public async Task DroppedOutputIsReleasedAtOnceAndNeverSent()
    {
        const int Pieces = 2, Size = 4 << 20; // no pool keeps so large an array
        var firstByte = new TaskCompletionSource<(byte Before, byte After, long Room)>();
        await using var host = await TransportHost.StartAsync(connection =>
        {
            PipeWriter output = connection.Transport.Output;
            byte[] first = Fill(output, Pieces, Size)[0];
            IEventLoopFeature loop = connection.Features.Get<IEventLoopFeature>()!;
            byte before = first[Size / 2];
            loop.DropUnflushed();
            firstByte.SetResult((before, first[Size / 2], loop.OutputRoom));
            return Task.CompletedTask;
        });
        using var socket = host.Connect();
        // A page that went back to the operating system reads as zero.
        byte after = OperatingSystem.IsLinux() ? (byte)0 : (byte)1;
        Assert.Equal(((byte)1, after, 0L), await firstByte.Task.WaitAsync(Transfer.Patience));
        Assert.Empty(socket.ReceiveToEnd());
    }

    /// <summary>A page that went back to the operating system reads as zero.</summary>
    [Fact]
    public async Task UnsentOutputOfAClosedConnectionReturnsToTheSystem()
    {
        const int Pieces = 16, Size = 2 << 20;
        var written = new TaskCompletionSource<byte[]>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            PipeWriter output = connection.Transport.Output;
            byte[] last = Fill(output, Pieces, Size)[^1];
            Task flushed = output.FlushAsync().AsTask();
            written.SetResult(last);
            await flushed;
        });
        byte[] last;
        using (var socket = host.Connect())
        {
            last = await written.Task.WaitAsync(Transfer.Patience);
            Assert.Equal(1, last[Size / 2]);
        }
        if (OperatingSystem.IsLinux()) await Transfer.EventuallyAsync(() => Volatile.Read(ref last[Size / 2]) == 0);
    }

    /// <summary>Writes pieces of ones and returns their arrays.</summary>
    private static byte[][] Fill(PipeWriter output, int pieces, int size)
    {
        var arrays = new byte[pieces][];
        for (int i = 0; i < pieces; i++)
        {
            Assert.True(MemoryMarshal.TryGetArray(output.GetMemory(size), out ArraySegment<byte> piece));
            arrays[i] = piece.Array!;
            arrays[i].AsSpan().Fill(1);
            output.Advance(size);
        }
        return arrays;
    }
}
