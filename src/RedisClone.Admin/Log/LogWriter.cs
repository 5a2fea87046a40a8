using RedisClone.Engine;
using RedisClone.Engine.Failures;

namespace RedisClone.Admin.Log;

/// <summary>
/// The thread that writes the log. A thread that logs may hold a shard or run an event loop, so it only adds its line to a
/// queue. A line is dropped and counted if the queue is full or if the write fails. The next line that can be written is
/// preceded by a line with the number of lost lines.
/// </summary>
internal sealed class LogWriter(LogFile? file, Func<long, byte[]> lossNotice) : IDisposable
{
    private readonly object _gate = new(); // guards the fields down to _ended
    private readonly Queue<byte[]> _lines = new();
    private byte[]? _newBar;
    private long _bytes;
    private Thread? _thread;
    private bool _isWriting;
    private bool _ended;

    private long _reported = LostLines.Count; // _reported and _torn are used only on the log thread
    private bool _torn; // standard output ends with a partial line
    private byte[] _bar = []; // what stands below the last line on a terminal

    /// <summary>Queues a line. Never blocks; drops the line if the queue is full.</summary>
    public void Add(byte[] line)
    {
        lock (_gate)
        {
            if (_ended || _bytes + line.Length > Limits.LogBacklog)
            {
                LostLines.Add();
                return;
            }
            if (_thread is null) StartThread();
            _lines.Enqueue(line);
            _bytes += line.Length;
            Monitor.PulseAll(_gate);
        }
    }

    /// <summary>Shows a text below the last line on a terminal until the next one replaces it; an empty text removes it.</summary>
    public void ShowBar(byte[] bar)
    {
        lock (_gate)
        {
            if (_ended) return;
            if (_thread is null) StartThread();
            _newBar = bar;
            Monitor.PulseAll(_gate);
        }
    }

    /// <summary>Waits until all lines are written, at most for <paramref name="patience"/>.</summary>
    public void Drain(TimeSpan patience)
    {
        long end = Environment.TickCount64 + (long)patience.TotalMilliseconds;
        lock (_gate)
        {
            while (_lines.Count > 0 || _isWriting)
            {
                long left = end - Environment.TickCount64;
                if (left <= 0 || !Monitor.Wait(_gate, (int)left)) return;
            }
        }
    }

    public void Dispose()
    {
        Drain(Limits.LogDrain);
        lock (_gate)
        {
            _ended = true;
            Monitor.PulseAll(_gate);
            if (!_isWriting) file?.Dispose();
        }
    }

    /// <summary>If the thread cannot be started, the next line tries again.</summary>
    private void StartThread()
    {
        var thread = new Thread(Run, maxStackSize: 256 << 10) { IsBackground = true, Name = "log" };
        thread.Start();
        _thread = thread;
    }

    private void Run()
    {
        while (TryTake(out byte[] line, out byte[]? bar))
        {
            try
            {
                if (bar is null) Write(line);
                else PutBar(bar);
            }
            catch (Exception)
            {
                LostLines.Add();
            }
        }
        PutBar([]);
    }

    /// <summary>Takes a line, or a bar if there is no line.</summary>
    private bool TryTake(out byte[] line, out byte[]? bar)
    {
        (line, bar) = ([], null);
        lock (_gate)
        {
            if (_isWriting)
            {
                _isWriting = false;
                Monitor.PulseAll(_gate);
            }
            while (_lines.Count == 0 && _newBar is null)
            {
                if (_ended) return false;
                Monitor.Wait(_gate);
            }
            if (_lines.TryDequeue(out byte[]? next)) _bytes -= (line = next).Length;
            else (bar, _newBar) = (_newBar, null);
            _isWriting = true;
            return true;
        }
    }

    private void Write(byte[] line)
    {
        long lost = LostLines.Count;
        if (lost != _reported && TryPut(lossNotice(lost - _reported))) _reported = lost;
        if (lost != _reported || !TryPut(line)) LostLines.Add();
    }

    private bool TryPut(byte[] line)
    {
        if (file is not null) return file.Append(line);
        if (_torn && StandardStream.Output.Write("\n"u8) == 0) return false;
        byte[] bar = _bar;
        PutBar([]);
        int written = StandardStream.Output.Write(line);
        _torn = written > 0 && written < line.Length;
        if (!_torn) PutBar(bar);
        return written == line.Length;
    }

    private void PutBar(byte[] bar)
    {
        if (_bar.Length > 0) StandardStream.Output.Write(TerminalBar.Remove);
        _bar = bar;
        if (bar.Length > 0) StandardStream.Output.Write(bar);
    }
}
