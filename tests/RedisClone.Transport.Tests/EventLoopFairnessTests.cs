using System.Buffers;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Transport.Tests;

/// <summary>How an event loop divides its rounds between connections.</summary>
public sealed class EventLoopFairnessTests
{
    private const int Connections = 64;
    private const int Bytes = 4096;
    private const int Turns = 10_000;

    /// <summary>
    /// All connections always have input, more than a round has room for. Work that was postponed gets its turn before newer
    /// work.
    /// </summary>
    [Fact]
    public async Task NewWorkDoesNotOvertakePostponedWork()
    {
        await using var host = await TransportHost.StartAsync(ServeAsync, options =>
        {
            options.LoopCount = 1;
            options.MaxBytesPerTurn = Bytes;
            options.MaxBytesPerRound = 8 * 2 * Bytes;
        });
        int total = 0;
        var sockets = Enumerable.Range(0, Connections).Select(_ => host.Connect()).ToArray();
        int[] turns = await Task.WhenAll(sockets.Select(socket => Task.Run(() => AskAsync(socket)))).WaitAsync(Transfer.Patience);
        foreach (var socket in sockets) socket.Dispose();
        Assert.True(turns.Min() >= Turns / Connections / 4, $"Turns of each connection: {string.Join(' ', turns.Order())}");

        async Task<int> AskAsync(Socket socket)
        {
            using var end = new CancellationTokenSource();
            var sending = SendAsync(socket, end.Token);
            byte[] buffer = new byte[Bytes];
            long received = 0;
            while (Volatile.Read(ref total) < Turns * Bytes)
            {
                int count = await socket.ReceiveAsync(buffer);
                received += count;
                Interlocked.Add(ref total, count);
            }
            end.Cancel();
            await sending;
            return (int)(received / Bytes);
        }
    }

    private static async Task SendAsync(Socket socket, CancellationToken end)
    {
        byte[] blocks = new byte[16 * Bytes];
        try
        {
            while (true) await socket.SendAsync(blocks, end);
        }
        catch (OperationCanceledException)
        {
        }
    }

    /// <summary>Answers each block, and postpones it when the round is full.</summary>
    private static async Task ServeAsync(ConnectionContext connection)
    {
        var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
        while (true)
        {
            var read = await connection.Transport.Input.ReadAtLeastAsync(Bytes);
            if (read.Buffer.Length < Bytes) return;
            if (loop.RoundIsFull)
            {
                var later = new Later();
                loop.Postpone(later);
                await later.Task;
            }
            connection.Transport.Output.Write(read.Buffer.Slice(0, Bytes).ToArray());
            connection.Transport.Input.AdvanceTo(read.Buffer.GetPosition(Bytes));
            await connection.Transport.Output.FlushAsync();
        }
    }

    private sealed class Later : TaskCompletionSource, IGatheredWork
    {
        public void Fetch()
        {
        }

        public void Run() => SetResult();
    }
}
