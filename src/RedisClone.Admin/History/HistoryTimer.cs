using Microsoft.Extensions.Hosting;
using RedisClone.Engine;

namespace RedisClone.Admin.History;

/// <summary>Takes a sample for the history each second, on a thread of the pool.</summary>
internal sealed class HistoryTimer(ServerCore server, FigureHistory history) : BackgroundService
{
    private static readonly TimeSpan Period = TimeSpan.FromSeconds(1);

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        if (!server.Config.MetricsHistory) return;
        using var timer = new PeriodicTimer(Period);
        using CancellationTokenRegistration stopping = stoppingToken.UnsafeRegister(static timer => ((PeriodicTimer)timer!).Dispose(), timer);
        while (await timer.WaitForNextTickAsync(CancellationToken.None))
        {
            try
            {
                history.Sample(ServerCore.UnixMilliseconds() / 1000);
            }
            catch (Exception bug)
            {
                server.Failures.WorkFailed("The figures could not be sampled", bug);
            }
        }
    }
}
