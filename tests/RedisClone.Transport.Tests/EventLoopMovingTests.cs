using System.Buffers;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;
using Xunit.Abstractions;

namespace RedisClone.Transport.Tests;

/// <summary>Connections move between event loops without losing a byte or the order of bytes.</summary>
public sealed class EventLoopMovingTests(ITestOutputHelper output)
{
    private const int Clients = 12, Rounds = 300;

    /// <summary>Replies are written on the event loop, on other threads, or both in turn; a part of each is flushed elsewhere.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task MovedConnectionsKeepEveryByteInOrder(bool onOtherThreads)
    {
        output.WriteLine(Seed.Note);
        await using var host = await StartAsync(connection => onOtherThreads ? EchoElsewhereAsync(connection) : Transfer.EchoAsync(connection));
        await ShuffleWhile(host, Task.WhenAll(Enumerable.Range(0, Clients).Select(i => Transfer.OnOwnThread(() =>
        {
            Random random = Seed.Random(i);
            using var socket = host.Connect();
            for (int round = 0; round < Rounds || !HasMoved(host) && round < 100 * Rounds; round++)
            {
                byte[] sent = new byte[1 + random.Next(1 << random.Next(1, 18))];
                random.NextBytes(sent);
                var sender = Transfer.OnOwnThread(() => socket.Send(sent));
                Assert.True(sent.AsSpan().SequenceEqual(socket.ReceiveExactly(sent.Length)), $"client {i}, round {round}");
                sender.Wait();
            }
            socket.Shutdown(SocketShutdown.Send);
            Assert.Equal(0, socket.Receive(new byte[1]));
        }))));
        Assert.True(HasMoved(host), "no connection has moved");
    }

    /// <summary>Work that another thread schedules for a connection runs on the connection's event loop, in order, wherever that is.</summary>
    [Fact]
    public async Task ScheduledWorkFollowsItsConnection()
    {
        const int Least = 20_000;
        var connections = new System.Collections.Concurrent.ConcurrentBag<ConnectionContext>();
        await using var host = await StartAsync(connection =>
        {
            connections.Add(connection);
            return Transfer.EchoAsync(connection);
        });
        Socket[] sockets = [.. Enumerable.Range(0, Clients).Select(_ => host.Connect())];
        await Transfer.EventuallyAsync(() => connections.Count == Clients);
        await ShuffleWhile(host, Task.WhenAll(connections.Select(connection => Transfer.OnOwnThread(() =>
        {
            var scheduler = connection.Features.GetRequiredFeature<IConnectionScheduler>();
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>();
            int expected = 0, wrong = 0;
            int works = 0;
            long end = Environment.TickCount64 + (long)Transfer.Patience.TotalMilliseconds;
            for (; works < Least || !HasMoved(host) && Environment.TickCount64 < end; works++)
            {
                int number = works;
                scheduler.Schedule(new Work(() =>
                {
                    if (!loop.EventLoop.IsOnLoop || expected != number) wrong++;
                    Volatile.Write(ref expected, expected + 1);
                }));
                if (works % 64 == 0) SpinWait.SpinUntil(() => Volatile.Read(ref expected) > number, Transfer.Patience);
            }
            Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref expected) == works, Transfer.Patience));
            Assert.Equal(0, wrong);
        }))));
        Assert.True(HasMoved(host), "no connection has moved");
        foreach (Socket socket in sockets) socket.Dispose();
    }

    /// <summary>Clients that come and go, and a shutdown, while connections move.</summary>
    [Fact]
    public async Task MovedConnectionsEnd()
    {
        int closed = 0;
        await using (var host = await StartAsync(Transfer.EchoAsync, options => options.Closed = () => Interlocked.Increment(ref closed)))
        {
            await ShuffleWhile(host, Task.WhenAll(Enumerable.Range(0, Clients).Select(i => Transfer.OnOwnThread(() =>
            {
                for (int round = 0; round < 50; round++)
                {
                    using var socket = host.Connect();
                    socket.Send("x"u8.ToArray());
                    Assert.Equal((byte)'x', socket.ReceiveExactly(1)[0]);
                    if (round % 3 == 0) socket.LingerState = new LingerOption(true, 0);
                }
            }))));
            await Transfer.EventuallyAsync(() => Volatile.Read(ref closed) == Clients * 50);
            Assert.Equal(0, host.Loops.Sum(static loop => loop.Connections));
            Socket[] idle = [.. Enumerable.Range(0, Clients).Select(_ => host.Connect())];
            await Transfer.EventuallyAsync(() => host.Loops.Sum(static loop => loop.Connections) == Clients);
            await ShuffleWhile(host, host.StopAsync());
            foreach (Socket socket in idle) socket.Dispose();
        }
        Assert.Equal(Clients * 51, closed);
    }

    /// <summary>Without load, one event loop has all connections.</summary>
    [Fact]
    public async Task OneLoopServesIdleConnections()
    {
        await using var host = await StartAsync(Transfer.EchoAsync, static options => options.LoopsJoinByLoad = true);
        Socket[] sockets = [.. Enumerable.Range(0, Clients).Select(_ => host.Connect())];
        await Transfer.EventuallyAsync(() => host.Loops.Sum(static loop => loop.Connections) == Clients);
        Assert.Equal([Clients, 0, 0, 0], host.Loops.Select(static loop => loop.Connections));
        foreach (Socket socket in sockets) socket.Dispose();
    }

    [Theory]
    [InlineData(new[] { 500 }, 0, -1)]
    [InlineData(new[] { 700 }, 0, 1)]
    [InlineData(new[] { 700, 400 }, 0, 1)]
    [InlineData(new[] { 700, 500 }, 0, 2)]
    [InlineData(new[] { 700, 500 }, 1, -1)]
    [InlineData(new[] { 900, 900, 900, 900 }, 2, -1)]
    [InlineData(new[] { 900, 900, 900, 100 }, 2, 3)]
    public void ABusyLoopSharesItsLoad(int[] loads, int loop, int target) => Assert.Equal(target, LoopBalance.Target(loads, loop, loops: 4));

    [Theory]
    [InlineData(new[] { 0 }, false)]
    [InlineData(new[] { 200, 100 }, true)]
    [InlineData(new[] { 300, 100 }, false)]
    [InlineData(new[] { 300, 200, 100 }, true)]
    public void ALoopLeavesAtALowLoad(int[] loads, bool leaves) => Assert.Equal(leaves, LoopBalance.MayLeave(loads));

    private static Task<TransportHost> StartAsync(ConnectionDelegate handler, Action<EventLoopOptions>? configure = null) =>
        TransportHost.StartAsync(handler, options =>
        {
            options.LoopCount = 4;
            configure?.Invoke(options);
        });

    private static bool HasMoved(TransportHost host) => host.Loops.Sum(static loop => loop.Moved) > Clients;

    private static async Task ShuffleWhile(TransportHost host, Task work)
    {
        Random random = Seed.Random(99);
        while (!work.IsCompleted)
        {
            host.Shuffle(random);
            await Task.Delay(random.Next(3));
        }
        await work;
    }

    /// <summary>Leaves the event loop before each reply, and flushes in pieces from whatever thread it is on.</summary>
    private static async Task EchoElsewhereAsync(ConnectionContext connection)
    {
        Random random = Seed.Random(connection.GetHashCode());
        var (input, output) = (connection.Transport.Input, connection.Transport.Output);
        while (true)
        {
            var read = await input.ReadAsync();
            if (random.Next(3) > 0) await Task.Run(static () => { });
            foreach (var piece in read.Buffer)
            {
                ReadOnlyMemory<byte> rest = piece;
                while (rest.Length > 0)
                {
                    int count = Math.Min(rest.Length, 1 + random.Next(64 * 1024));
                    output.Write(rest.Span[..count]);
                    rest = rest[count..];
                    if ((await output.FlushAsync()).IsCompleted) return;
                    if (random.Next(8) == 0) await Task.Run(static () => { });
                }
            }
            input.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted) return;
        }
    }

    private sealed class Work(Action action) : IThreadPoolWorkItem
    {
        public void Execute() => action();
    }
}
