using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Transport.Tests;

/// <summary>The lifetime of connections on the event loop, and the order in which a round runs its work.</summary>
public sealed class EventLoopLifetimeTests
{
    [Fact]
    public async Task HalfClosedConnectionGetsItsReplies()
    {
        await using var host = await TransportHost.StartAsync(Transfer.EchoAsync);
        using var socket = host.Connect();
        socket.Send("one"u8);
        socket.Send("two"u8);
        socket.Shutdown(SocketShutdown.Send);
        await Transfer.OnOwnThread(() => Assert.Equal("onetwo"u8.ToArray(), socket.ReceiveToEnd()));
    }

    [Fact]
    public async Task ResetEndsAWaitingFlushAndNoOtherConnection()
    {
        var ended = new TaskCompletionSource<bool>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            if ((await connection.Transport.Input.ReadAsync()).Buffer.FirstSpan[0] == 'e')
            {
                await Transfer.EchoAsync(connection);
                return;
            }
            FlushResult flushed;
            do
            {
                connection.Transport.Output.GetSpan(1 << 20)[..(1 << 20)].Clear();
                connection.Transport.Output.Advance(1 << 20);
                flushed = await connection.Transport.Output.FlushAsync();
            }
            while (!flushed.IsCompleted);
            await Transfer.EventuallyAsync(() => connection.ConnectionClosed.IsCancellationRequested);
            ended.SetResult(true);
        });
        using var other = host.Connect();
        other.Send("e"u8);
        var aborted = host.Connect();
        aborted.Send("w"u8);
        aborted.ReceiveExactly(100_000);
        aborted.LingerState = new LingerOption(true, 0);
        aborted.Close();
        Assert.True(await ended.Task.WaitAsync(Transfer.Patience));
        Assert.Equal("e"u8.ToArray(), other.ReceiveExactly(1));
    }

    [Fact]
    public async Task UnixSocketHasItsModeBeforeTheFirstConnection()
    {
        string path = Path.Combine(Path.GetTempPath(), $"rc-{Guid.NewGuid():N}.sock");
        const UnixFileMode Mode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        UnixFileMode? seen = null;
        var first = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        using var leftover = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        var connecting = Transfer.OnOwnThread(() =>
        {
            while (true)
            {
                try
                {
                    first.Connect(new UnixDomainSocketEndPoint(path));
                    if (OperatingSystem.IsLinux()) seen = File.GetUnixFileMode(path);
                    return;
                }
                catch (SocketException)
                {
                    first.Dispose();
                    first = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                }
            }
        });
        await using (await TransportHost.StartAsync(Transfer.EchoAsync, options => options.UnixSocketMode = Mode, unixPath: path))
        {
            await connecting;
            Assert.Equal(Mode, seen);
            first.Send("ping"u8);
            Assert.Equal("ping"u8.ToArray(), first.ReceiveExactly(4));
            first.Dispose();
        }
        Assert.False(File.Exists(path));
    }

    [Fact]
    public async Task StaleSocketFileIsReplacedAndSocketInUseIsNot()
    {
        string path = Path.Combine(Path.GetTempPath(), $"rc-{Guid.NewGuid():N}.sock");
        string moved = path + ".moved";
        using (var dead = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
        {
            dead.Bind(new UnixDomainSocketEndPoint(path));
            File.Move(path, moved);
        }
        File.Move(moved, path);
        await using var host = await TransportHost.StartAsync(Transfer.EchoAsync, unixPath: path);
        await Assert.ThrowsAnyAsync<IOException>(() => TransportHost.StartAsync(Transfer.EchoAsync, unixPath: path));
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(new UnixDomainSocketEndPoint(path));
        socket.Send("x"u8);
        Assert.Equal("x"u8.ToArray(), socket.ReceiveExactly(1));
    }

    [Fact]
    public async Task StopEndsConnectionsThatWaitForInput()
    {
        var reads = new ConcurrentBag<bool>();
        var host = await TransportHost.StartAsync(async connection =>
        {
            connection.Transport.Output.Write("hi"u8);
            await connection.Transport.Output.FlushAsync();
            reads.Add((await connection.Transport.Input.ReadAsync()).IsCompleted);
        });
        var sockets = Enumerable.Range(0, 50).Select(_ => host.Connect()).ToList();
        foreach (var socket in sockets) Assert.Equal("hi"u8.ToArray(), socket.ReceiveExactly(2));
        await host.StopAsync().WaitAsync(Transfer.Patience);
        await Transfer.OnOwnThread(() =>
        {
            foreach (var socket in sockets) Assert.Empty(socket.ReceiveToEnd());
        });
        await host.DisposeAsync().AsTask().WaitAsync(Transfer.Patience);
        Assert.Equal(50, reads.Count);
        Assert.DoesNotContain(false, reads);
    }

    [Theory]
    [InlineData(true, true)]
    [InlineData(true, false)]
    [InlineData(false, true)]
    [InlineData(false, false)]
    public async Task ShutdownWaitsOnlyForPeersThatRead(bool reads, bool writesBeforeStop)
    {
        const int OutputBytes = 32 << 20;
        var (connected, flushing, stopping) = (new TaskCompletionSource(), new TaskCompletionSource(), new TaskCompletionSource());
        var host = await TransportHost.StartAsync(
            async connection =>
            {
                connected.SetResult();
                if (!writesBeforeStop) await stopping.Task;
                connection.Transport.Output.GetSpan(OutputBytes)[..OutputBytes].Clear();
                connection.Transport.Output.Advance(OutputBytes);
                ValueTask<FlushResult> flushed = connection.Transport.Output.FlushAsync();
                flushing.SetResult();
                await flushed;
            },
            // On a busy machine, a peer that reads may stall.
            options => options.LastStallMilliseconds = reads ? int.MaxValue : 20);
        using var socket = host.Connect();
        await (writesBeforeStop ? flushing : connected).Task.WaitAsync(Transfer.Patience);
        Task received = reads ? Transfer.OnOwnThread(() => Assert.Equal(OutputBytes, socket.ReceiveToEnd().Length)) : Task.CompletedTask;
        Task ended = host.EndAsync();
        stopping.SetResult();
        await ended.WaitAsync(Transfer.Patience);
        await received;
        await host.DisposeAsync();
    }

    [Fact]
    public async Task ReadsContinueOnTheLoopAndRoundEndsBeforeItSends()
    {
        var seen = new ConcurrentQueue<string>();
        var done = new TaskCompletionSource();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
            var read = await connection.Transport.Input.ReadAsync();
            connection.Transport.Input.AdvanceTo(read.Buffer.End);
            seen.Enqueue($"read on loop: {loop.IsOnLoop}");
            loop.Post(_ => seen.Enqueue("posted"), null);
            loop.AtEndOfRound(
                _ =>
                {
                    seen.Enqueue("end of round");
                    connection.Transport.Output.Write("reply"u8);
                    _ = connection.Transport.Output.FlushAsync().AsTask();
                    loop.AtEndOfRound(
                        _ =>
                        {
                            var feature = connection.Features.GetRequiredFeature<IEventLoopFeature>();
                            seen.Enqueue($"very end, unsent {feature.UnsentBytes}");
                        },
                        null);
                },
                null);
            await done.Task;
        });
        using var socket = host.Connect();
        socket.Send("x"u8);
        Assert.Equal("reply"u8.ToArray(), socket.ReceiveExactly(5));
        Assert.Equal(["read on loop: True", "posted", "end of round", "very end, unsent 5"], seen);
        done.SetResult();
    }

    [Fact]
    public async Task GatheredWorkRunsAfterFetchForAllItems()
    {
        var seen = new ConcurrentQueue<string>();
        var done = new TaskCompletionSource();
        var loops = new TaskCompletionSource<IEventLoop>();
        await using var host = await TransportHost.StartAsync(connection =>
        {
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
            loop.Post(
                _ =>
                {
                    loop.Gather(new Gathered("one", seen, then: () => loop.Gather(new Gathered("three", seen, done.SetResult))));
                    loop.Gather(new Gathered("two", seen, then: () => { }));
                },
                null);
            loops.SetResult(loop);
            return done.Task;
        });
        using var socket = host.Connect();
        await done.Task.WaitAsync(Transfer.Patience);
        Assert.Equal(["fetch one", "fetch two", "run one", "run two", "fetch three", "run three"], seen);
        Assert.Throws<InvalidOperationException>(() => loops.Task.Result.Gather(new Gathered("elsewhere", seen, then: () => { })));
    }

    /// <summary>
    /// A full round runs only one postponed item, so that short work that arrives meanwhile runs before the next item.
    /// </summary>
    [Theory]
    [InlineData(0, "run one", "fetch meanwhile", "run meanwhile", "run two")]
    [InlineData(1024 * 1024, "run one", "run two", "fetch meanwhile", "run meanwhile")]
    public async Task PostponedWorkRunsWhileTheRoundHasRoom(int bytesPerRound, params string[] expected)
    {
        var seen = new ConcurrentQueue<string>();
        var done = new TaskCompletionSource();
        await using var host = await TransportHost.StartAsync(
            connection =>
            {
                var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
                loop.Post(
                    _ =>
                    {
                        loop.Postpone(new Gathered("one", seen, then: () => loop.Gather(new Gathered("meanwhile", seen, Done))));
                        loop.Postpone(new Gathered("two", seen, Done));
                    },
                    null);
                return done.Task;
            },
            options => options.MaxBytesPerRound = bytesPerRound);
        using var socket = host.Connect();
        await done.Task.WaitAsync(Transfer.Patience);
        Assert.Equal(expected, seen);

        void Done()
        {
            if (seen.Count == expected.Length) done.SetResult();
        }
    }

    [Fact]
    public async Task PostsOfAThreadRunInOrder()
    {
        const int Threads = 4, Each = 50_000;
        var loops = new TaskCompletionSource<IEventLoop>();
        var end = new TaskCompletionSource();
        await using var host = await TransportHost.StartAsync(connection =>
        {
            loops.SetResult(connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop);
            return end.Task;
        });
        using var socket = host.Connect();
        var loop = await loops.Task.WaitAsync(Transfer.Patience);
        var seen = new List<(int Thread, int Number)>();
        await Task.WhenAll(Enumerable.Range(0, Threads).Select(thread => Transfer.OnOwnThread(() =>
        {
            for (int i = 0; i < Each; i++)
            {
                var item = (thread, i);
                loop.Post(_ => seen.Add(item), null);
                // The pauses let the loop go to sleep. After a lost wake-up, the remaining posts would not run.
                if (i % 1000 == 0) Thread.Sleep(1);
            }
        })));
        await Transfer.EventuallyAsync(() => Volatile.Read(ref seen).Count == Threads * Each);
        for (int thread = 0; thread < Threads; thread++)
            Assert.Equal(Enumerable.Range(0, Each), seen.Where(item => item.Thread == thread).Select(item => item.Number));
        end.SetResult();
    }

    [Fact]
    public async Task PendingReadIsCanceledByThePipeAndByAToken()
    {
        var results = new TaskCompletionSource<string>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            var input = connection.Transport.Input;
            _ = Task.Delay(50).ContinueWith(_ => input.CancelPendingRead(), TaskScheduler.Default);
            var first = await input.ReadAsync();
            input.AdvanceTo(first.Buffer.Start);
            input.CancelPendingRead();
            var second = await input.ReadAsync();
            input.AdvanceTo(second.Buffer.Start);
            using var source = new CancellationTokenSource(50);
            bool threw = false;
            try
            {
                await input.ReadAsync(source.Token);
            }
            catch (OperationCanceledException)
            {
                threw = true;
            }
            connection.Transport.Output.Write("!"u8);
            await connection.Transport.Output.FlushAsync();
            var last = await input.ReadAsync();
            results.SetResult($"{first.IsCanceled} {second.IsCanceled} {threw} {last.IsCanceled} {last.Buffer.Length}");
        });
        using var socket = host.Connect();
        socket.ReceiveExactly(1);
        socket.Send("abc"u8);
        Assert.Equal("True True True False 3", await results.Task.WaitAsync(Transfer.Patience));
    }

    [Fact]
    public async Task AbortAndDisposeEndAPendingRead()
    {
        var results = new ConcurrentBag<bool>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            _ = Task.Delay(20).ContinueWith(
                _ => results.IsEmpty ? Abort(connection) : connection.DisposeAsync().AsTask(), TaskScheduler.Default);
            results.Add((await connection.Transport.Input.ReadAsync()).IsCompleted);
        });
        for (int i = 1; i <= 2; i++)
        {
            using var socket = host.Connect();
            await Transfer.OnOwnThread(() => Assert.Empty(socket.ReceiveToEnd()));
            await Transfer.EventuallyAsync(() => results.Count == i);
        }
        Assert.DoesNotContain(false, results);

        static Task Abort(ConnectionContext connection)
        {
            connection.Abort();
            return Task.CompletedTask;
        }
    }

    [Fact]
    public async Task ReadThatExceedsTheBufferLimitCompletes()
    {
        var result = new TaskCompletionSource<long>();
        await using var host = await TransportHost.StartAsync(
            async connection =>
            {
                while (true)
                {
                    var read = await connection.Transport.Input.ReadAsync();
                    if (read.IsCompleted) result.SetResult(read.Buffer.Length);
                    connection.Transport.Input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                    if (read.IsCompleted) return;
                }
            },
            options => options.MaxReadBufferBytes = 64 * 1024);
        using var socket = host.Connect();
        await Transfer.OnOwnThread(() =>
        {
            try
            {
                for (int i = 0; i < 100; i++) socket.Send(new byte[64 * 1024]);
            }
            catch (SocketException)
            {
                // The server has closed the connection.
            }
        });
        Assert.InRange(await result.Task.WaitAsync(Transfer.Patience), 64 * 1024, 128 * 1024);
    }

    private sealed class Gathered(string name, ConcurrentQueue<string> seen, Action then) : IGatheredWork
    {
        public void Fetch() => seen.Enqueue($"fetch {name}");

        public void Run()
        {
            seen.Enqueue($"run {name}");
            then();
        }
    }
}
