using System.Buffers;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Transport.EventLoop;
using Xunit.Abstractions;

namespace RedisClone.Transport.Tests;

/// <summary>A consumer takes input instead of the waiting read, and gives the reader back.</summary>
public sealed class EventLoopConsumerTests(ITestOutputHelper output)
{
    [Fact]
    public async Task ConsumerAndReaderShareTheInput()
    {
        output.WriteLine(Seed.Note);
        int taken = 0, read = 0;
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            var echo = new Echo(connection, Seed.Random(connection.GetHashCode()));
            await echo.RunAsync();
            Interlocked.Add(ref taken, echo.Finished);
            Interlocked.Add(ref read, echo.Read);
        });
        await Task.WhenAll(Enumerable.Range(0, 8).Select(i => Transfer.OnOwnThread(() =>
        {
            Random random = Seed.Random(i);
            using var socket = host.Connect();
            for (int round = 0; round < 200; round++)
            {
                byte[] sent = new byte[1 + random.Next(1 << random.Next(1, 16))];
                random.NextBytes(sent);
                var sender = Transfer.OnOwnThread(() => socket.Send(sent));
                Assert.True(sent.AsSpan().SequenceEqual(socket.ReceiveExactly(sent.Length)));
                sender.Wait();
            }
            socket.Shutdown(SocketShutdown.Send);
            Assert.Equal(0, socket.Receive(new byte[1]));
        })));
        Assert.NotEqual(0, taken);
        Assert.NotEqual(0, read);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task TheEndAndACancellationWaitForTheConsumer(bool cancels)
    {
        var taken = new TaskCompletionSource<Keeper>();
        var ended = new TaskCompletionSource<bool>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            var keeper = new Keeper(connection, taken);
            var read = await connection.Transport.Input.ReadAsync();
            ended.SetResult(cancels ? read.IsCanceled : read.IsCompleted);
        });
        using var socket = host.Connect();
        socket.Send("x"u8.ToArray());
        var keeper = await taken.Task.WaitAsync(Transfer.Patience);
        if (cancels) keeper.Connection.Transport.Input.CancelPendingRead();
        else socket.Shutdown(SocketShutdown.Send);
        // A later round has seen the event and the post.
        await keeper.Feature.EventLoop.ReceiveAllAsync().WaitAsync(Transfer.Patience);
        Assert.False(ended.Task.IsCompleted);
        keeper.GiveBack();
        Assert.True(await ended.Task.WaitAsync(Transfer.Patience));
    }

    /// <summary>The output that a thread has flushed while the event loop was busy leaves before a message of the event loop.</summary>
    [Fact]
    public async Task AMessageDoesNotOvertakePostedOutput()
    {
        var connected = new TaskCompletionSource<ConnectionContext>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            connected.SetResult(connection);
            await connection.Transport.Input.ReadAsync();
        });
        using var socket = host.Connect();
        var connection = await connected.Task.WaitAsync(Transfer.Patience);
        var feature = connection.Features.GetRequiredFeature<IEventLoopFeature>();
        var sent = new TaskCompletionSource<(bool Before, bool After)>(TaskCreationOptions.RunContinuationsAsynchronously);
        feature.EventLoop.Post(_ =>
        {
            Transfer.OnOwnThread(() => connection.Transport.Output.WriteAsync("a"u8.ToArray()).AsTask()).Wait();
            bool before = feature.TrySend("b"u8);
            feature.EventLoop.Post(_ => sent.SetResult((before, feature.TrySend("b"u8))), null);
        }, null);
        Assert.Equal((false, true), await sent.Task.WaitAsync(Transfer.Patience));
        Assert.Equal("ab"u8, socket.ReceiveExactly(2));
    }

    /// <summary>Sends back what arrives. It takes a random part of it, now or at the end of the round, or leaves it to the reader of the pipe.</summary>
    private sealed class Echo : IInputConsumer
    {
        private readonly ConnectionContext _connection;
        private readonly IEventLoopFeature _feature;
        private readonly Random _random;

        public Echo(ConnectionContext connection, Random random)
        {
            _connection = connection;
            _random = random;
            _feature = connection.Features.GetRequiredFeature<IEventLoopFeature>();
            _feature.Consumer = this;
        }

        public int Finished { get; private set; }

        public int Read { get; private set; }

        public void Take(ArraySegment<byte> input)
        {
            if (_random.Next(3) == 0) _feature.EventLoop.AtEndOfRound(_ => Finish(input), null);
            else Finish(input);
        }

        public async Task RunAsync()
        {
            while (true)
            {
                var read = await _connection.Transport.Input.ReadAsync();
                Read++;
                _connection.Transport.Output.Write(read.Buffer.ToArray());
                _connection.Transport.Input.AdvanceTo(read.Buffer.End);
                await _connection.Transport.Output.FlushAsync();
                if (read.IsCompleted) return;
            }
        }

        private void Finish(ArraySegment<byte> input)
        {
            if (_random.Next(4) == 0)
            {
                _feature.CompleteRead();
                return;
            }
            Finished++;
            int consumed = _random.Next(2) == 0 ? input.Count : _random.Next(input.Count + 1);
            _connection.Transport.Output.Write(input.AsSpan(0, consumed));
            _feature.Advance(consumed, consumed);
            bool sent = _connection.Transport.Output.FlushAsync().AsTask().IsCompleted;
            // Input that was not examined has no event.
            if (!sent || !_feature.TryAwaitInput()) _feature.CompleteRead();
        }
    }

    /// <summary>Keeps the input.</summary>
    private sealed class Keeper : IInputConsumer
    {
        private readonly TaskCompletionSource<Keeper> _taken;

        public Keeper(ConnectionContext connection, TaskCompletionSource<Keeper> taken)
        {
            Connection = connection;
            _taken = taken;
            Feature = connection.Features.GetRequiredFeature<IEventLoopFeature>();
            Feature.Consumer = this;
        }

        public ConnectionContext Connection { get; }

        public IEventLoopFeature Feature { get; }

        public void Take(ArraySegment<byte> input) => _taken.TrySetResult(this);

        public void GiveBack() => Feature.EventLoop.Post(_ =>
        {
            Feature.Advance(1, 1);
            Assert.True(Feature.TryAwaitInput());
        }, null);
    }
}
