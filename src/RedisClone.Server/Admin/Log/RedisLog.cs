using System.Text;
using Microsoft.Extensions.Logging;

namespace RedisClone.Server.Admin;

/// <summary>
/// The log, one line an event in the form that is configured, to standard output or a file. Past Console.Out, which would first have a look at the terminal.
/// </summary>
internal sealed class RedisLog(ServerConfig config) : ILoggerProvider
{
    private static readonly Stream s_standardOutput = Console.OpenStandardOutput();

    private readonly Lock _writing = new();
    private readonly LogFile? _file = config.LogFile.Length > 0 ? new LogFile(config.PathOf(config.LogFile)) : null;

    public ILogger CreateLogger(string categoryName) => new Logger(this);

    public void Dispose()
    {
        lock (_writing) _file?.Dispose();
    }

    private bool IsEnabled(LogLevel level) => level >= config.LogLevel switch
    {
        ServerLogLevel.Debug => LogLevel.Debug,
        ServerLogLevel.Verbose => LogLevel.Debug,
        ServerLogLevel.Notice => LogLevel.Information,
        ServerLogLevel.Warning => LogLevel.Warning,
        _ => LogLevel.None,
    };

    private void Write(in LogEvent happened)
    {
        byte[] line = Encoding.UTF8.GetBytes(config.LogFormat == LogFormat.Json ? happened.ToJson() : happened.ToText());
        lock (_writing)
        {
            if (_file is null) s_standardOutput.Write(line);
            else _file.Append(line);
        }
    }

    private sealed class Logger(RedisLog owner) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => owner.IsEnabled(logLevel);

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (!IsEnabled(logLevel)) return;
            string text = formatter(state, exception);
            owner.Write(new LogEvent(DateTime.Now, logLevel, LogEvent.Bounded(exception is null ? text : text + ": " + exception), state as IReadOnlyList<KeyValuePair<string, object?>> ?? []));
        }
    }
}
