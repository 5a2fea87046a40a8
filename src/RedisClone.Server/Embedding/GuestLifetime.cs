using Microsoft.Extensions.Hosting;

namespace RedisClone.Server.Embedding;

/// <summary>A guest listens to no signals: they are the host's.</summary>
internal sealed class GuestLifetime : IHostLifetime
{
    public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
