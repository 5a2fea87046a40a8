using System.Buffers;
using System.Collections.Concurrent;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Transport.Tests;

/// <summary>Long work on an event loop's thread hands the event loop over to another thread.</summary>
public class EventLoopHandoverTests
{
    [Fact]
    public async Task OtherConnectionsAreServedDuringLongWork()
    {
        using var go = new ManualResetEventSlim();
        var threads = new ConcurrentQueue<(bool Before, bool Handed, bool After)>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
            var input = connection.Transport.Input;
            while (true)
            {
                var read = await input.ReadAsync();
                if (read.IsCompleted) return;
                byte command = read.Buffer.First.Span[0];
                input.AdvanceTo(read.Buffer.End);
                if (command == 'l')
                {
                    bool before = loop.IsOnLoop;
                    bool handed = loop.TryHandOver();
                    threads.Enqueue((before, handed, loop.IsOnLoop));
                    go.Wait(Transfer.Patience);
                }
                connection.Transport.Output.Write(loop.IsOnLoop ? "on "u8 : "off"u8);
                await connection.Transport.Output.FlushAsync();
            }
        });
        using var slow = host.Connect();
        using var fast = host.Connect();
        for (int i = 0; i < 3; i++)
        {
            slow.Send("l"u8);
            await Transfer.EventuallyAsync(() => threads.Count > i);
            for (int k = 0; k < 10; k++)
            {
                fast.Send("f"u8);
                Assert.Equal("on "u8.ToArray(), fast.ReceiveExactly(3));
            }
            go.Set();
            Assert.Equal("off"u8.ToArray(), slow.ReceiveExactly(3));
            go.Reset();
            // The connection is on its event loop again, which another thread serves.
            slow.Send("f"u8);
            Assert.Equal("on "u8.ToArray(), slow.ReceiveExactly(3));
        }
        Assert.All(threads, seen => Assert.Equal((true, true, false), seen));
    }

    [Fact]
    public async Task EveryStepOfARoundMayHandOver()
    {
        var loops = new TaskCompletionSource<IEventLoop>();
        var end = new TaskCompletionSource();
        await using var host = await TransportHost.StartAsync(connection =>
        {
            loops.TrySetResult(connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop);
            return end.Task;
        });
        using var socket = host.Connect();
        var loop = await loops.Task.WaitAsync(Transfer.Patience);
        var ran = new ConcurrentQueue<string>();
        const int Each = 50;
        loop.Post(
            _ =>
            {
                for (int i = 0; i < Each; i++)
                {
                    loop.Gather(new Work(() => HandOver("gathered")));
                    loop.Postpone(new Work(() => HandOver("postponed")));
                    loop.AtEndOfRound(_ => HandOver("end"), null);
                    loop.Post(_ => HandOver("posted"), null);
                }
            },
            null);
        await Transfer.EventuallyAsync(() => ran.Count == 4 * Each);
        Assert.Equal(["end", "gathered", "posted", "postponed"], ran.Distinct().Order());
        Assert.All(ran.GroupBy(name => name), group => Assert.Equal(Each, group.Count()));
        end.SetResult();

        void HandOver(string name)
        {
            Assert.True(loop.TryHandOver());
            Assert.Throws<InvalidOperationException>(() => loop.TryHandOver());
            ran.Enqueue(name);
        }
    }

    [Fact]
    public async Task TheLoopStopsWhileWorkOfAnEarlierThreadRuns()
    {
        using var go = new ManualResetEventSlim();
        var begun = new TaskCompletionSource();
        var ended = new TaskCompletionSource();
        var host = await TransportHost.StartAsync(connection =>
        {
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
            loop.Post(
                _ =>
                {
                    loop.TryHandOver();
                    begun.SetResult();
                    go.Wait(Transfer.Patience);
                    ended.SetResult();
                },
                null);
            return Task.CompletedTask;
        });
        using (var socket = host.Connect()) await begun.Task.WaitAsync(Transfer.Patience);
        await host.DisposeAsync();
        go.Set();
        await ended.Task.WaitAsync(Transfer.Patience);
    }

    private sealed class Work(Action run) : IGatheredWork
    {
        public void Fetch()
        {
        }

        public void Run() => run();
    }
}
