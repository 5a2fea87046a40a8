using System.Buffers;
using System.Diagnostics;
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
    /// Many connections have input, more than a round has room for. Work that was postponed gets its turn before newer work:
    /// the number of turns of other connections that it waits for has a bound. The turns of each connection are not compared,
    /// because the threads of the clients are not scheduled evenly.
    /// </summary>
    [Fact]
    public async Task NewWorkDoesNotOvertakePostponedWork()
    {
        // One thread, that of the loop, writes these.
        int turns = 0, postponed = 0, longest = 0;
        await using var host = await TransportHost.StartAsync(ServeAsync, options =>
        {
            options.LoopCount = 1;
            options.MaxBytesPerTurn = Bytes;
            options.MaxBytesPerRound = 8 * 2 * Bytes;
        });
        using var end = new CancellationTokenSource();
        var sockets = Enumerable.Range(0, Connections).Select(_ => host.Connect()).ToArray();
        var sending = sockets.Select(socket => Task.Run(() => SendAsync(socket, end.Token))).ToArray();
        var receiving = sockets.Select(socket => Task.Run(() => ReceiveAsync(socket, end.Token))).ToArray();
        var patience = Stopwatch.StartNew();
        while (Volatile.Read(ref turns) < Turns && patience.Elapsed < Transfer.Patience) await Task.Delay(10);
        end.Cancel();
        await Task.WhenAll([.. sending, .. receiving]).WaitAsync(Transfer.Patience);
        foreach (var socket in sockets) socket.Dispose();
        Assert.True(Volatile.Read(ref turns) >= Turns, $"{turns} turns");
        Assert.NotEqual(0, Volatile.Read(ref postponed));
        Assert.True(Volatile.Read(ref longest) <= 2 * Connections, $"Postponed work waited for {longest} turns.");

        // Answers each block, and postpones it when the round is full. It awaits the transport's own read: that one always continues
        // on the event loop, while ReadAtLeastAsync continues on the thread of its first call if input arrives soon enough.
        async Task ServeAsync(ConnectionContext connection)
        {
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
            while (true)
            {
                var read = await connection.Transport.Input.ReadAsync();
                if (read.Buffer.Length < Bytes)
                {
                    if (read.IsCompleted) return;
                    connection.Transport.Input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                    continue;
                }
                if (loop.RoundIsFull)
                {
                    int before = turns;
                    var later = new Later();
                    loop.Postpone(later);
                    await later.Task;
                    postponed++;
                    longest = Math.Max(longest, turns - before);
                }
                turns++;
                connection.Transport.Output.Write(read.Buffer.Slice(0, Bytes).ToArray());
                connection.Transport.Input.AdvanceTo(read.Buffer.GetPosition(Bytes));
                await connection.Transport.Output.FlushAsync();
            }
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

    private static async Task ReceiveAsync(Socket socket, CancellationToken end)
    {
        byte[] buffer = new byte[Bytes];
        try
        {
            while (true) await socket.ReceiveAsync(buffer, end);
        }
        catch (OperationCanceledException)
        {
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
