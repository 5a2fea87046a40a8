using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Log;

/// <summary>Says how far long work is: a bar if the log goes to a terminal, otherwise a line each five seconds.</summary>
internal sealed class ProgressReports(ServerCore server, ILogger lines, RedisLog? terminal = null) : BackgroundService
{
    private static readonly TimeSpan LineInterval = TimeSpan.FromSeconds(5), BarInterval = TimeSpan.FromSeconds(1);

    private readonly bool _isTerminal = terminal is { IsTerminal: true };
    private bool _hasBar;

    /// <summary>Shows the work that has run for some time.</summary>
    public void Report(TimeSpan leastTaken)
    {
        LongWork[] works = [.. LongWork.Of(server).Where(work => work.Taken >= leastTaken)];
        if (!_isTerminal)
        {
            foreach (LongWork work in works) lines.LogInformation("{Work}: {Progress}", work.Kind.Title, ProgressText.Line(work));
            return;
        }
        if (works.Length == 0 && !_hasBar) return;
        terminal!.ShowBar(TerminalBar.Of(works));
        _hasBar = works.Length > 0;
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        TimeSpan interval = _isTerminal ? BarInterval : LineInterval;
        using var timer = new PeriodicTimer(interval);
        using CancellationTokenRegistration stopping = stoppingToken.UnsafeRegister(static timer => ((PeriodicTimer)timer!).Dispose(), timer);
        while (await timer.WaitForNextTickAsync(CancellationToken.None))
        {
            try
            {
                Report(leastTaken: interval / 2);
            }
            catch (Exception bug)
            {
                server.Failures.WorkFailed("The progress of long work could not be reported", bug);
            }
        }
    }
}
