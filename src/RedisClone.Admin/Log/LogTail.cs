using System.Collections.Frozen;
using System.Globalization;
using System.Text;
using Microsoft.Extensions.Logging;
using RedisClone.Configuration;

namespace RedisClone.Admin.Log;

/// <summary>
/// The last lines of the log in memory, for a file that leaves the machine. A line shows its numbers and only those texts that the
/// server itself makes: a text of a client could be a key or a value.
/// </summary>
internal sealed class LogTail(ServerConfig config) : ILoggerProvider
{
    private const int Lines = 1000;

    /// <summary>The arguments of log lines that never contain what a client sent.</summary>
    private static readonly FrozenSet<string> ShownTexts = FrozenSet.Create(StringComparer.Ordinal,
        "Reason", "Why", "Problem", "Warning", "Error", "Failure", "File", "Path", "Other", "Work", "Command", "Kill",
        "Then", "Where", "What", "Role", "EndPoint", "Option");

    private readonly Lock _gate = new();
    private readonly Queue<string> _lines = new();

    public ILogger CreateLogger(string categoryName) => new Logger(this);

    /// <summary>The lines, oldest first.</summary>
    public string[] Read()
    {
        lock (_gate) return [.. _lines];
    }

    public void Dispose()
    {
    }

    private bool Includes(LogLevel level) => config.LogLevel.Includes(level);

    private void Add(string line)
    {
        lock (_gate)
        {
            if (_lines.Count == Lines) _lines.Dequeue();
            _lines.Enqueue(line);
        }
    }

    private static string LineOf(LogLevel level, IReadOnlyList<KeyValuePair<string, object?>> parts, Exception? exception)
    {
        var line = new StringBuilder();
        line.Append(CultureInfo.InvariantCulture, $"{DateTime.UtcNow:yyyy-MM-ddTHH:mm:ss.fffZ} {level} ");
        string template = parts.Count > 0 ? parts[^1].Value as string ?? "" : "";
        int part = 0;
        // The placeholders of a template are in the order of its arguments.
        for (int i = 0; i < template.Length; i++)
        {
            if (template[i] != '{' || part == parts.Count - 1)
            {
                line.Append(template[i]);
                continue;
            }
            (string name, object? value) = parts[part++];
            line.Append(value is not string || ShownTexts.Contains(name) ? Convert.ToString(value, CultureInfo.InvariantCulture) : "(hidden)");
            i = template.IndexOf('}', i) is >= 0 and var end ? end : template.Length;
        }
        // The message of an exception can quote data. Its type and its stack cannot.
        if (exception is not null) line.Append(CultureInfo.InvariantCulture, $": {exception.GetType().FullName}\n{exception.StackTrace}");
        return LogEvent.Bounded(line.ToString());
    }

    private sealed class Logger(LogTail owner) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => owner.Includes(logLevel);

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (!IsEnabled(logLevel) || state is not IReadOnlyList<KeyValuePair<string, object?>> parts) return;
            try
            {
                owner.Add(LineOf(logLevel, parts, exception));
            }
            catch (Exception)
            {
                // No log line may throw. The log itself has the line, or counts it as lost.
            }
        }
    }
}
