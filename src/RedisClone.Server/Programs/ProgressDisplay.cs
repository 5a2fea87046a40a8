using System.Diagnostics;
using System.Text;
using RedisClone.Admin.Log;
using RedisClone.Engine.Metrics;

namespace RedisClone.Server.Programs;

/// <summary>
/// Shows on standard error how far a command that runs no server is: a bar on a terminal, otherwise a line each five seconds.
/// </summary>
internal sealed class ProgressDisplay : IDisposable
{
    private readonly Lock _gate = new();
    private readonly TextWriter _error;
    private readonly bool _isTerminal = !Console.IsErrorRedirected;
    private readonly Timer _timer;
    private Func<LongWork>? _work;
    private bool _hasBar;

    public ProgressDisplay(TextWriter error)
    {
        _error = error;
        TimeSpan interval = _isTerminal ? TimeSpan.FromMilliseconds(500) : TimeSpan.FromSeconds(5);
        _timer = new Timer(_ => Show(), null, interval, interval);
    }

    /// <summary>Begins a step. The next step ends it.</summary>
    public void Begin(string name, Func<long> total, Func<long> done)
    {
        long started = Stopwatch.GetTimestamp();
        lock (_gate) _work = () => new LongWork(new LongWorkKind(name, name), InBytes: true, done(), total(), Stopwatch.GetElapsedTime(started));
    }

    /// <summary>Ends the step, so that other output can follow.</summary>
    public void End()
    {
        lock (_gate)
        {
            _work = null;
            Replace([]);
        }
    }

    public void Dispose()
    {
        _timer.Dispose();
        End();
    }

    private void Show()
    {
        lock (_gate)
        {
            if (_work?.Invoke() is not { } work) return;
            if (_isTerminal) Replace(TerminalBar.Of(work));
            else _error.WriteLine($"{work.Kind.Title}: {ProgressText.Line(work)}");
        }
    }

    private void Replace(byte[] bar)
    {
        if (_hasBar) _error.Write(Encoding.ASCII.GetString(TerminalBar.Remove));
        _hasBar = bar.Length > 0;
        if (_hasBar) _error.Write(Encoding.UTF8.GetString(bar));
    }
}
