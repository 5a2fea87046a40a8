using System.Buffers;
using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;

namespace RedisClone.Transport.Tests;

/// <summary>A Kestrel server on the event-loop transport. One delegate handles all connections.</summary>
internal sealed class TransportHost : IAsyncDisposable
{
    private readonly WebApplication _app;

    private TransportHost(WebApplication app) => _app = app;

    public IPEndPoint EndPoint
    {
        get
        {
            var addresses = _app.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>();
            return new IPEndPoint(IPAddress.Loopback, new Uri(addresses.Addresses.First()).Port);
        }
    }

    public static async Task<TransportHost> StartAsync(
        ConnectionDelegate handler,
        Action<EventLoopOptions>? configure = null,
        Action<ListenOptions>? middleware = null,
        string? unixPath = null)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel =>
        {
            if (unixPath is null) kestrel.Listen(IPAddress.Loopback, 0, Use);
            else kestrel.ListenUnixSocket(unixPath, Use);
        });
        builder.Services.Configure<HostOptions>(options => options.ShutdownTimeout = TimeSpan.FromSeconds(1));
        builder.Services.AddEventLoopTransport(options =>
        {
            options.LoopCount = 2;
            configure?.Invoke(options);
        });
        var app = builder.Build();
        await app.StartAsync();
        return new TransportHost(app);

        void Use(ListenOptions listen)
        {
            middleware?.Invoke(listen);
            listen.Run(connection => handler(connection));
        }
    }

    public LoopCounters[] Loops => OperatingSystem.IsLinux() ? Factory().Counters : [];

    public Socket Connect()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Connect(EndPoint);
        return socket;
    }

    public Task StopAsync() => _app.StopAsync();

    /// <summary>Moves the quiet connections to random event loops.</summary>
    public void Shuffle(Random random)
    {
        if (OperatingSystem.IsLinux()) Factory().Shuffle(random);
    }

    /// <summary>Stops, and waits without limit for peers that read.</summary>
    public Task EndAsync()
    {
        if (OperatingSystem.IsLinux()) Factory().BeginToEnd();
        return _app.Services.GetRequiredService<IServer>().StopAsync(CancellationToken.None);
    }

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }

    [SupportedOSPlatform("linux")]
    private EventLoopListenerFactory Factory() => _app.Services.GetServices<IConnectionListenerFactory>().OfType<EventLoopListenerFactory>().Single();
}

/// <summary>Helpers for the clients and for the connection handlers of the tests.</summary>
internal static class Transfer
{
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public static async Task EchoAsync(ConnectionContext connection)
    {
        var (input, output) = (connection.Transport.Input, connection.Transport.Output);
        while (true)
        {
            var read = await input.ReadAsync();
            foreach (var piece in read.Buffer) output.Write(piece.Span);
            input.AdvanceTo(read.Buffer.End);
            var flushed = await output.FlushAsync();
            if (read.IsCompleted || flushed.IsCompleted) return;
        }
    }

    public static byte[] ReceiveExactly(this Socket socket, int count)
    {
        byte[] bytes = new byte[count];
        for (int at = 0; at < count;)
        {
            int received = socket.Receive(bytes, at, count - at, SocketFlags.None);
            if (received == 0) throw new EndOfStreamException($"The stream ended after {at} of {count} bytes.");
            at += received;
        }
        return bytes;
    }

    public static byte[] ReceiveToEnd(this Socket socket)
    {
        using var all = new MemoryStream();
        byte[] buffer = new byte[64 * 1024];
        for (int received; (received = socket.Receive(buffer)) > 0;) all.Write(buffer, 0, received);
        return all.ToArray();
    }

    /// <summary>Runs blocking socket work on its own thread, so that it does not occupy the thread pool.</summary>
    public static Task OnOwnThread(Action work) => Task.Factory.StartNew(work, TaskCreationOptions.LongRunning).WaitAsync(Patience);

    public static async Task EventuallyAsync(Func<bool> condition)
    {
        long start = Environment.TickCount64;
        while (!condition())
        {
            Assert.True(Environment.TickCount64 - start < Patience.TotalMilliseconds, "The condition did not become true.");
            await Task.Delay(5);
        }
    }
}
