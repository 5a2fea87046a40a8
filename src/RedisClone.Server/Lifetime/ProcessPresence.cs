using System.Globalization;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;
using RedisClone.Engine;

namespace RedisClone.Server.Lifetime;

/// <summary>Announces the process to the system: the pid file, the out-of-memory score, and systemd.</summary>
internal sealed class ProcessPresence(ServerConfig config, ConfigTable table, ServerCore server, ILogger<ProcessPresence> log) : IHostedLifecycleService
{
    private readonly OomScore _oomScore = new(config);
    private readonly Supervisor _supervisor = new(config.Supervised, Environment.GetEnvironmentVariable(Supervisor.Variable));
    private bool _hasPidFile;

    public Task StartingAsync(CancellationToken cancellationToken)
    {
        if (_oomScore.Apply() is { } error) log.LogWarning("{Error}", error);
        // Replicas have a value of their own.
        server.Role.Changed = () => _oomScore.Apply();
        table.OnChanged("oom-score-adj", _oomScore.Apply);
        table.OnChanged("oom-score-adj-values", _oomScore.Apply);
        return Task.CompletedTask;
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>
    /// Called when clients are served. The server owns its ports and data at this point, so it cannot overwrite the pid file of
    /// another server that uses them.
    /// </summary>
    public void Ready()
    {
        _hasPidFile = config.PidFile.Length > 0;
        if (_hasPidFile) TryOnPidFile("written", path => File.WriteAllText(path, string.Create(CultureInfo.InvariantCulture, $"{Environment.ProcessId}\n")));
        _supervisor.Ready();
    }

    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        _supervisor.Stopping();
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken)
    {
        if (_hasPidFile) TryOnPidFile("removed", File.Delete);
        return Task.CompletedTask;
    }

    /// <summary>A server runs without a pid file if it cannot be written, as in Redis.</summary>
    private void TryOnPidFile(string what, Action<string> action)
    {
        try
        {
            action(config.PathOf(config.PidFile));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            log.LogWarning("The pid file {Path} could not be {What}: {Reason}", config.PidFile, what, ConfigFiles.Reason(e));
        }
    }
}
