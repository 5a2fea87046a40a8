using Microsoft.Extensions.Logging;
using RedisClone.Engine.Failures;

namespace RedisClone.Server.Net.Listening;

/// <summary>
/// Ends the process when Kestrel's accept loop has ended. The loop ends at its first unexpected exception, for example for lack
/// of memory, and only a line in the log says so. A process that accepts no connections is worse than one that is started again.
/// </summary>
internal sealed class ListenerWatch : ILoggerProvider
{
    private const string Category = "Microsoft.AspNetCore.Server.Kestrel";

    /// <summary>The text of Kestrel's event. The event has no name, and its number is that of other events too.</summary>
    private const string Text = "The connection listener failed to accept any new connections.";

    public ILogger CreateLogger(string categoryName) => new Watch(categoryName.StartsWith(Category, StringComparison.Ordinal));

    /// <summary>Does nothing: the watch holds no resource.</summary>
    public void Dispose()
    {
    }

    private sealed class Watch(bool isKestrel) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => isKestrel && logLevel == LogLevel.Critical;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsEnabled(logLevel) && formatter(state, null) == Text)
                Fatal.End("No more connections can be accepted", exception);
        }
    }
}
