using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;
using RedisClone.Engine.Failures;

namespace RedisClone;

/// <summary>
/// The LogWarning and related methods of this server. Code in this namespace binds to them instead of those of
/// Microsoft.Extensions.Logging, which pass on exceptions of the logger and allocate their arguments before any handler is
/// active. These methods never throw: a line that cannot be formatted is counted as lost. Error handlers and code that holds
/// shards write log lines, and a second exception there would do harm.
/// </summary>
internal static class SafeLog
{
    public static void LogDebug(this ILogger log, string message) =>
        Write(log, LogLevel.Debug, null, message, default(ValueTuple));

    public static void LogDebug<T1, T2>(this ILogger log, string message, T1 a, T2 b) =>
        Write(log, LogLevel.Debug, null, message, (a, b));

    public static void LogInformation(this ILogger log, string message) =>
        Write(log, LogLevel.Information, null, message, default(ValueTuple));

    public static void LogInformation<T1>(this ILogger log, string message, T1 a) =>
        Write(log, LogLevel.Information, null, message, new ValueTuple<T1>(a));

    public static void LogInformation<T1, T2>(this ILogger log, string message, T1 a, T2 b) =>
        Write(log, LogLevel.Information, null, message, (a, b));

    public static void LogInformation<T1, T2, T3>(this ILogger log, string message, T1 a, T2 b, T3 c) =>
        Write(log, LogLevel.Information, null, message, (a, b, c));

    public static void LogWarning(this ILogger log, string message) =>
        Write(log, LogLevel.Warning, null, message, default(ValueTuple));

    public static void LogWarning<T1>(this ILogger log, string message, T1 a) =>
        Write(log, LogLevel.Warning, null, message, new ValueTuple<T1>(a));

    public static void LogWarning<T1, T2>(this ILogger log, string message, T1 a, T2 b) =>
        Write(log, LogLevel.Warning, null, message, (a, b));

    public static void LogWarning<T1, T2, T3>(this ILogger log, string message, T1 a, T2 b, T3 c) =>
        Write(log, LogLevel.Warning, null, message, (a, b, c));

    public static void LogWarning<T1, T2, T3, T4>(this ILogger log, string message, T1 a, T2 b, T3 c, T4 d) =>
        Write(log, LogLevel.Warning, null, message, (a, b, c, d));

    public static void LogError<T1>(this ILogger log, string message, T1 a) =>
        Write(log, LogLevel.Error, null, message, new ValueTuple<T1>(a));

    public static void LogError<T1, T2>(this ILogger log, string message, T1 a, T2 b) =>
        Write(log, LogLevel.Error, null, message, (a, b));

    public static void LogError(this ILogger log, Exception error, string message) =>
        Write(log, LogLevel.Error, error, message, default(ValueTuple));

    public static void LogError<T1>(this ILogger log, Exception error, string message, T1 a) =>
        Write(log, LogLevel.Error, error, message, new ValueTuple<T1>(a));

    public static void LogError<T1, T2>(this ILogger log, Exception error, string message, T1 a, T2 b) =>
        Write(log, LogLevel.Error, error, message, (a, b));

    public static void LogCritical(this ILogger log, string message) =>
        Write(log, LogLevel.Critical, null, message, default(ValueTuple));

    public static void LogCritical<T1>(this ILogger log, string message, T1 a) =>
        Write(log, LogLevel.Critical, null, message, new ValueTuple<T1>(a));

    public static void Log<T1>(this ILogger log, LogLevel level, string message, T1 a) =>
        Write(log, level, null, message, new ValueTuple<T1>(a));

    private static void Write<TParts>(ILogger log, LogLevel level, Exception? error, string message, TParts parts)
        where TParts : struct, ITuple
    {
        try
        {
            if (!log.IsEnabled(level)) return;
            object?[] values = new object?[parts.Length];
            for (int i = 0; i < values.Length; i++) values[i] = parts[i];
#pragma warning disable CA2254 // The message is a constant at each call.
            log.Log(level, error, message, values);
#pragma warning restore CA2254
        }
        catch (Exception)
        {
            LostLines.Add();
        }
    }
}
