using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Failures;

namespace RedisClone.Admin.Log;

/// <summary>
/// The log: one line per event in the configured format, to standard output or a file. It does not use Console.Out, which would
/// query the terminal first. No call throws or waits for the output: see <see cref="LogWriter"/>.
/// </summary>
internal sealed class RedisLog : ILoggerProvider
{
    private readonly ServerConfig _config;
    private readonly LogFile? _file;
    private readonly LogWriter _writer;

    public RedisLog(ServerConfig config)
    {
        _config = config;
        IsTerminal = config.LogFile.Length == 0 && !IsJson && !Console.IsOutputRedirected;
        if (config.LogFile.Length > 0) _file = new LogFile(config.PathOf(config.LogFile));
        _writer = new LogWriter(_file, lost => Format(LogLevel.Warning, $"{lost} lines of the log could not be written."));
    }

    public bool IsStandardOutput => _file is null;

    /// <summary>Whether the log goes to a terminal as text.</summary>
    public bool IsTerminal { get; }

    public bool IsJson => _config.LogFormat == LogFormat.Json;

    /// <summary>The role as redis-server marks it in its log.</summary>
    public char Role => _config.ReplicaOf is null ? 'M' : 'S';

    public ILogger CreateLogger(string categoryName) => new Logger(this);

    public void Dispose() => _writer.Dispose();

    /// <summary>Waits until all lines are written, at most for <paramref name="patience"/>.</summary>
    public void Drain(TimeSpan patience) => _writer.Drain(patience);

    public byte[] Format(LogLevel level, string message) => Format(new LogEvent(Role, DateTime.Now, level, message, []));

    /// <summary>Shows a bar below the last line of a terminal until the next call.</summary>
    public void ShowBar(byte[] bar) => _writer.ShowBar(bar);

    /// <summary>Writes on the calling thread, because the process is about to end.</summary>
    public void WriteLast(ReadOnlySpan<byte> line)
    {
        if (_file is not null) _file.AppendLast(line);
        else StandardStream.Output.Write(line, Limits.FatalPatience);
    }

    private byte[] Format(in LogEvent happened) => Encoding.UTF8.GetBytes(IsJson ? happened.ToJson() : happened.ToText());

    private bool IsEnabled(LogLevel level) => _config.LogLevel.Includes(level);

    private sealed class Logger(RedisLog owner) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => owner.IsEnabled(logLevel);

        /// <summary>Formatting may throw, for example if memory is exhausted. The line is then counted as lost.</summary>
        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (!IsEnabled(logLevel)) return;
            try
            {
                string text = LogEvent.Bounded(formatter(state, exception));
                if (exception is not null) text = LogEvent.Bounded(text + ": " + LogEvent.TextOf(exception));
                owner._writer.Add(owner.Format(new LogEvent(owner.Role, DateTime.Now, logLevel, text,
                    state as IReadOnlyList<KeyValuePair<string, object?>> ?? [])));
            }
            catch (Exception)
            {
                LostLines.Add();
            }
        }
    }
}
