using System.Buffers;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Transport.Tests;

/// <summary>Output that an event loop holds until its gate opens.</summary>
public sealed class HeldOutputTests
{
    [Fact]
    public async Task HeldOutputLeavesWhenTheGateOpens()
    {
        var gate = new Gate();
        await using var host = await StartAsync(gate);
        using var socket = host.Connect();
        // Each request is "position reply". A reply with position 0 is not held, but follows the held ones.
        socket.Send("3 three."u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 1);
        socket.Send("5 five..."u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 2);
        Assert.False(socket.Poll(50_000, SelectMode.SelectRead));
        gate.MoveTo(3);
        Assert.Equal("three."u8.ToArray(), socket.ReceiveExactly(6));
        socket.Send("0 zero"u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 3);
        Assert.False(socket.Poll(50_000, SelectMode.SelectRead));
        gate.MoveTo(4);
        Assert.False(socket.Poll(50_000, SelectMode.SelectRead));
        gate.MoveTo(5);
        Assert.Equal("five...zero"u8.ToArray(), socket.ReceiveExactly(11));
        socket.Send("0 zero"u8);
        Assert.Equal("zero"u8.ToArray(), socket.ReceiveExactly(4));
        Assert.Equal(long.MaxValue, gate.Loop!.FirstHeld);
    }

    [Fact]
    public async Task OutputOfAnotherThreadIsHeldToo()
    {
        var gate = new Gate();
        await using var host = await StartAsync(gate, elsewhere: true);
        using var socket = host.Connect();
        for (int position = 1; position <= 50; position++)
        {
            socket.Send(System.Text.Encoding.ASCII.GetBytes($"{position} held"));
            await Transfer.EventuallyAsync(() => gate.Requests == position && gate.Loop!.FirstHeld != long.MaxValue);
            Assert.False(socket.Poll(500, SelectMode.SelectRead));
            gate.MoveTo(position);
            Assert.Equal("held"u8.ToArray(), socket.ReceiveExactly(4));
        }
    }

    [Fact]
    public async Task AFinalGateAbortsConnectionsBeyondIt()
    {
        var gate = new Gate();
        await using var host = await StartAsync(gate);
        using var kept = host.Connect();
        using var lost = host.Connect();
        kept.Send("3 kept"u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 1);
        lost.Send("4 lost"u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 2);
        gate.MoveTo(3, isFinal: true);
        Assert.Equal("kept"u8.ToArray(), kept.ReceiveExactly(4));
        Assert.Equal(0, ReceiveOrEnd(lost));
        kept.Send("0 zero"u8);
        Assert.Equal("zero"u8.ToArray(), kept.ReceiveExactly(4));
    }

    [Fact]
    public async Task AClosedConnectionStillSendsItsHeldOutput()
    {
        var gate = new Gate();
        await using var host = await StartAsync(gate);
        using var socket = host.Connect();
        socket.Send("7 last"u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 1);
        socket.Shutdown(SocketShutdown.Send);
        await Task.Delay(50);
        gate.MoveTo(7);
        Assert.Equal("last"u8.ToArray(), socket.ReceiveExactly(4));
        Assert.Equal(0, ReceiveOrEnd(socket));
    }

    [Fact]
    public async Task AWriterWaitsWhenTooMuchIsHeld()
    {
        var gate = new Gate();
        await using var host = await StartAsync(gate, options =>
        {
            options.PauseWriterBytes = 100;
            options.ResumeWriterBytes = 50;
        });
        using var socket = host.Connect();
        byte[] request = [.. "9 "u8, .. new byte[200]];
        socket.Send(request);
        await Transfer.EventuallyAsync(() => gate.Requests == 1);
        socket.Send("9 more"u8);
        await Task.Delay(50);
        Assert.Equal(1, gate.Requests);
        gate.MoveTo(9);
        Assert.Equal(204, socket.ReceiveExactly(204).Length);
        Assert.Equal(2, gate.Requests);
    }

    [Fact]
    public async Task ConnectionsThatBreakWhileTheirOutputIsHeldAreForgotten()
    {
        var gate = new Gate();
        await using var host = await StartAsync(gate);
        for (int i = 0; i < 20; i++)
        {
            using var socket = host.Connect();
            socket.LingerState = new LingerOption(true, 0);
            socket.Send("5 held"u8);
            await Transfer.EventuallyAsync(() => gate.Requests == i + 1);
        }
        using var last = host.Connect();
        last.Send("6 last"u8);
        await Transfer.EventuallyAsync(() => gate.Requests == 21);
        gate.MoveTo(6);
        Assert.Equal("last"u8.ToArray(), last.ReceiveExactly(4));
        await Transfer.EventuallyAsync(() => gate.Loop!.FirstHeld == long.MaxValue);
    }

    private static Task<TransportHost> StartAsync(Gate gate, Action<EventLoopOptions>? configure = null, bool elsewhere = false) =>
        TransportHost.StartAsync(
            connection => ServeAsync(connection, gate, elsewhere),
            options =>
            {
                options.LoopCount = 1;
                configure?.Invoke(options);
            });

    private static async Task ServeAsync(ConnectionContext connection, Gate gate, bool elsewhere)
    {
        IEventLoopFeature feature = connection.Features.GetRequiredFeature<IEventLoopFeature>();
        feature.EventLoop.OutputGate ??= gate;
        gate.Loop = feature.EventLoop;
        while (true)
        {
            var read = await connection.Transport.Input.ReadAsync();
            if (read.Buffer.IsEmpty && read.IsCompleted) return;
            byte[] request = read.Buffer.ToArray();
            connection.Transport.Input.AdvanceTo(read.Buffer.End);
            int space = request.AsSpan().IndexOf((byte)' ');
            long position = long.Parse(request.AsSpan(0, space));
            if (elsewhere) await Task.Run(() => WriteAsync(request.AsMemory(space + 1), position));
            else await WriteAsync(request.AsMemory(space + 1), position);
        }

        async Task WriteAsync(ReadOnlyMemory<byte> reply, long position)
        {
            connection.Transport.Output.Write(reply.Span);
            var flush = position > 0 ? feature.FlushHeldAsync(position) : connection.Transport.Output.FlushAsync();
            gate.Count();
            await flush;
        }
    }

    private static int ReceiveOrEnd(Socket socket)
    {
        try
        {
            return socket.Receive(new byte[1]);
        }
        catch (SocketException)
        {
            return 0;
        }
    }

    private sealed class Gate : IOutputGate
    {
        private long _open;
        private int _requests;

        public IEventLoop? Loop { get; set; }

        public int Requests => Volatile.Read(ref _requests);

        public bool IsFinal { get; private set; }

        public long Open => Volatile.Read(ref _open);

        public void Count() => Interlocked.Increment(ref _requests);

        public void MoveTo(long position, bool isFinal = false)
        {
            IsFinal = isFinal;
            Interlocked.Exchange(ref _open, position);
            if (Loop!.FirstHeld != long.MaxValue) Loop.Post(static _ => { }, null);
        }
    }
}
