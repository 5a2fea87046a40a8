using System.IO.Pipelines;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Embedding;

/// <summary>
/// A server inside this process, with its own listeners and threads. A process may have any number of servers. Each is started
/// at most once, and releases all its resources when it is disposed.
/// </summary>
public sealed class RedisCloneServer : IHostedService, IAsyncDisposable, IDisposable
{
    private readonly WebApplication _host;
    private readonly ServerRun _run;
    private readonly MemoryTransport _memory;
    private readonly IReadOnlyList<string> _warnings;
    private readonly TaskCompletionSource _started = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _begun;                 // 1 once the start has begun
    private Task? _end;

    /// <summary>Creates a server that is not yet started.</summary>
    /// <param name="options">The configuration.</param>
    /// <param name="log">Receives the log, or null to discard it.</param>
    /// <exception cref="ArgumentException">The options are invalid; the message names the error.</exception>
    public RedisCloneServer(RedisCloneOptions options, ILoggerFactory? log = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        ConfigLoad load = options.Load();
        _warnings = load.Warnings;
        _host = Hosting.Embed(load.Config!, log ?? NullLoggerFactory.Instance);
        _memory = _host.Services.GetRequiredService<MemoryTransport>();
        _run = new ServerRun(_host);
    }

    /// <summary>The TCP port that the server listens on, or 0 if there is none.</summary>
    public int Port => Math.Max(_run.Core.Config.Port, 0);

    /// <summary>Completes when the server has ended, after <see cref="StopAsync"/> or the command SHUTDOWN.</summary>
    /// <exception cref="InvalidOperationException">The server was not started.</exception>
    public Task Ended => _end ?? throw new InvalidOperationException("The server was not started.");

    internal ServerCore Core => _run.Core;

    /// <summary>Starts the server. The task completes when the data is loaded and clients are served.</summary>
    /// <param name="cancellationToken">Ends the start, also while the data is loaded.</param>
    /// <returns>A task that completes when the server is ready.</returns>
    /// <exception cref="InvalidOperationException">The server cannot start, or was started before; the message gives the reason.</exception>
    public async Task StartAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        if (Interlocked.Exchange(ref _begun, 1) != 0) throw new InvalidOperationException("The server was started before. Create another one.");
        try
        {
            foreach (string warning in _warnings) Core.Log.LogWarning("{Warning}", warning);
            string? fault;
            using (cancellationToken.Register(static run => ((ServerRun)run!).Cancel(), _run)) fault = await _run.StartAsync().ConfigureAwait(false);
            if (fault is not null)
            {
                cancellationToken.ThrowIfCancellationRequested();
                throw new InvalidOperationException($"The server cannot start: {fault}");
            }
            _end = _run.EndAsync();
        }
        finally
        {
            _started.TrySetResult();
        }
    }

    /// <summary>
    /// Connects a client without a socket. It writes requests to Output, reads replies from Input, and disconnects by
    /// completing both.
    /// </summary>
    /// <returns>The client's end of the connection.</returns>
    public IDuplexPipe Connect() => _memory.Connect();

    /// <summary>Connects a client without a socket, as a stream. It disconnects when the stream is disposed.</summary>
    /// <returns>The client's end of the connection.</returns>
    public Stream ConnectStream() => new DuplexStream(Connect());

    /// <summary>
    /// Disconnects all clients, saves the data as configured, and stops the server. Ends a start that is in progress. Does nothing if the
    /// server was not started.
    /// </summary>
    /// <param name="cancellationToken">Cancels the wait for the end. A shutdown that has begun continues.</param>
    /// <returns>A task that completes when the server has ended.</returns>
    public async Task StopAsync(CancellationToken cancellationToken = default)
    {
        if (Volatile.Read(ref _begun) == 0) return;
        if (!_started.Task.IsCompleted) _run.Cancel();
        await _started.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        if (_end is null) return;
        // Force is set because the host ends even if the save fails.
        await Core.Shutdown.Begin(ShutdownOptions.Force, "The host asks the server to end.").WaitAsync(cancellationToken).ConfigureAwait(false);
        await _end.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync().ConfigureAwait(false);
        await _host.DisposeAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public void Dispose() => DisposeAsync().AsTask().GetAwaiter().GetResult();
}
