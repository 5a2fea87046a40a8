using Microsoft.Extensions.Logging;
using RedisClone.Engine.Failures;

namespace RedisClone.Server.Embedding;

/// <summary>
/// Passes all log lines to the host's log, which filters them. Exceptions of the host's logger are caught and counted as lost
/// lines.
/// </summary>
internal sealed class HostLog(ILoggerFactory host) : ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) => new Guarded(host.CreateLogger(categoryName));

    /// <summary>Does nothing: the host owns its log.</summary>
    public void Dispose()
    {
    }

    private sealed class Guarded(ILogger log) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull
        {
            try
            {
                return log.BeginScope(state);
            }
            catch (Exception)
            {
                LostLines.Add();
                return null;
            }
        }

        public bool IsEnabled(LogLevel logLevel)
        {
            try
            {
                return log.IsEnabled(logLevel);
            }
            catch (Exception)
            {
                LostLines.Add();
                return false;
            }
        }

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            try
            {
                log.Log(logLevel, eventId, state, exception, formatter);
            }
            catch (Exception)
            {
                LostLines.Add();
            }
        }
    }
}
