using System.IO.Pipelines;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Server.Admin;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Embedding;

/// <summary>
/// A server within this process, with listeners and threads of its own. A process may have any number of them; each is started once, and
/// leaves nothing behind when it was disposed.
/// </summary>
public sealed class RedisCloneServer : IHostedService, IAsyncDisposable, IDisposable
{
    private readonly WebApplication _host;
    private readonly ServerRun _run;
    private readonly MemoryTransport _memory;
    private readonly IReadOnlyList<string> _warnings;
    private Task? _end;

    /// <summary>Reads the options; an <see cref="ArgumentException"/> says what is wrong with them.</summary>
    public RedisCloneServer(RedisCloneOptions options, ILoggerFactory? log = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        ConfigLoad load = options.Load();
        _warnings = load.Warnings;
        _host = Hosting.Embed(load.Config!, log ?? NullLoggerFactory.Instance);
        _memory = _host.Services.GetRequiredService<MemoryTransport>();
        _run = new ServerRun(_host);
    }

    /// <summary>The port that is listened on; 0 where there is none.</summary>
    public int Port => Math.Max(_run.Core.Config.Port, 0);

    /// <summary>Completes when the server has ended, be it by <see cref="StopAsync"/> or because a client said SHUTDOWN.</summary>
    public Task Ended => _end ?? throw new InvalidOperationException("The server was not started.");

    internal ServerCore Core => _run.Core;

    /// <summary>Returns when data is loaded and clients are served.</summary>
    public async Task StartAsync(CancellationToken cancellationToken = default)
    {
        foreach (string warning in _warnings) Core.Log.LogWarning("{Warning}", warning);
        if (await _run.StartAsync() is { } fault) throw new InvalidOperationException($"The server cannot start: {fault}");
        _end = _run.EndAsync();
    }

    /// <summary>A client without a socket: what it writes to Output are requests, and replies come from Input. It hangs up by completing both.</summary>
    public IDuplexPipe Connect() => _memory.Connect();

    /// <summary>The same as a stream, which hangs up when it is disposed.</summary>
    public Stream ConnectStream() => new DuplexStream(Connect());

    /// <summary>Lets clients go, saves what is to be saved, and returns when all is done.</summary>
    public async Task StopAsync(CancellationToken cancellationToken = default)
    {
        if (_end is null) return;
        // Saving takes its time, and the host goes whether it succeeds or not.
        await Task.Run(() => Core.Shutdown.Begin(ShutdownOptions.Force, "The host asks the server to end."), cancellationToken);
        await _end.WaitAsync(cancellationToken);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        await _host.DisposeAsync();
    }

    /// <inheritdoc/>
    public void Dispose() => DisposeAsync().AsTask().GetAwaiter().GetResult();
}
