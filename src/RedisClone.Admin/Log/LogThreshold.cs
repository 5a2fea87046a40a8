using Microsoft.Extensions.Logging;
using RedisClone.Configuration;

namespace RedisClone.Admin.Log;

/// <summary>The parameter loglevel in terms of the log's levels.</summary>
internal static class LogThreshold
{
    /// <summary>Whether the log has events of a level.</summary>
    public static bool Includes(this ServerLogLevel threshold, LogLevel level) => level >= threshold switch
    {
        ServerLogLevel.Debug => LogLevel.Debug,
        ServerLogLevel.Verbose => LogLevel.Debug,
        ServerLogLevel.Notice => LogLevel.Information,
        ServerLogLevel.Warning => LogLevel.Warning,
        _ => LogLevel.None,
    };
}
