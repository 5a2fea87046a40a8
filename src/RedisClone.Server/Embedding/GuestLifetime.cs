using Microsoft.Extensions.Hosting;

namespace RedisClone.Server.Embedding;

/// <summary>The lifetime of an embedded server: it handles no signals, because they belong to the host.</summary>
internal sealed class GuestLifetime : IHostLifetime
{
    public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
