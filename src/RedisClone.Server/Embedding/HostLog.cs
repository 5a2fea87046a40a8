using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Embedding;

/// <summary>
/// Everything goes to the log of the host, which decides what of it is kept. What the host's logger throws ends here and is
/// counted as a lost line.
/// </summary>
internal sealed class HostLog(ILoggerFactory host) : ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) => new Guarded(host.CreateLogger(categoryName));

    /// <summary>The host's log outlives its guests.</summary>
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
