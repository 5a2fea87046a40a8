using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using RedisClone.Engine.Failures;
using RedisClone.Server.Net.Listening;

namespace RedisClone.Server.Tests.Net;

/// <summary>The end of Kestrel's accept loop ends the process. A failure of the start does not.</summary>
[Collection(nameof(Fatal))]
public sealed class ListenerWatchTests : IDisposable
{
    private readonly TaskCompletionSource<(string Why, Exception? Cause)> _ended = new();

    public ListenerWatchTests() => Fatal.Instead = (why, cause) => _ended.TrySetResult((why, cause));

    public void Dispose() => Fatal.Instead = null;

    [Fact]
    public async Task TheEndOfTheAcceptLoopEndsTheProcess()
    {
        await using WebApplication host = Build(new FailingTransport(new OutOfMemoryException("a test"), mayBind: true));
        await host.StartAsync();
        (string why, Exception? cause) = await _ended.Task.WaitAsync(TimeSpan.FromMinutes(1));
        Assert.Equal("No more connections can be accepted", why);
        Assert.IsType<OutOfMemoryException>(cause);
        await host.StopAsync();
    }

    [Fact]
    public async Task AFailedStartThrowsAndDoesNotEndTheProcess()
    {
        await using WebApplication host = Build(new FailingTransport(new IOException("a test"), mayBind: false));
        await Assert.ThrowsAsync<IOException>(() => host.StartAsync());
        Assert.False(_ended.Task.IsCompleted);
    }

    private static WebApplication Build(FailingTransport transport)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Logging.AddProvider(new ListenerWatch());
        builder.WebHost.UseKestrelCore();
        builder.Services.AddSingleton<IConnectionListenerFactory>(transport);
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(transport.EndPoint, listen => listen.Run(static _ => Task.CompletedTask)));
        WebApplication host = builder.Build();
        host.Run(static _ => Task.CompletedTask);
        return host;
    }

    /// <summary>A transport that cannot bind, or that cannot accept.</summary>
    private sealed class FailingTransport(Exception failure, bool mayBind)
        : IConnectionListenerFactory, IConnectionListenerFactorySelector, IConnectionListener
    {
        public EndPoint EndPoint { get; } = new DnsEndPoint("nowhere", 1);

        public bool CanBind(EndPoint endpoint) => endpoint == EndPoint;

        public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default) =>
            mayBind ? new ValueTask<IConnectionListener>(this) : throw failure;

        public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) => throw failure;

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default) => ValueTask.CompletedTask;

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
