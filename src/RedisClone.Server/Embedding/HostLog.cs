using Microsoft.Extensions.Logging;

namespace RedisClone.Server.Embedding;

/// <summary>Everything goes to the log of the host, which decides what of it is kept.</summary>
internal sealed class HostLog(ILoggerFactory host) : ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) => host.CreateLogger(categoryName);

    /// <summary>The host's log outlives its guests.</summary>
    public void Dispose()
    {
    }
}
