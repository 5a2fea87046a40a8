using System.Diagnostics;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal;

/// <summary>
/// The journal thread: it writes, flushes, waits for event loops that are in a round, and sleeps. With <c>everysec</c>, a
/// second thread flushes.
/// </summary>
public sealed partial class JournalEngine
{
    private static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan TimeBetweenSideWrites = TimeSpan.FromMilliseconds(2);
    private static readonly TimeSpan TimeBetweenErrors = TimeSpan.FromMilliseconds(100);

    private void Run()
    {
        while (!Volatile.Read(ref _stopping))
        {
            try
            {
                if (Volatile.Read(ref _untold)) TellAgain();
                if (AwaitsSpace) TryResume();
                if (!IsKeeping) Sleep(IdleTime);
                else if (Policy == FlushPolicy.Always) RunAlways();
                else RunRelaxed();
            }
            catch (Exception error)
            {
                // Nothing becomes durable without this thread. An unexpected exception ends the journal like a failed
                // write, and the thread continues for the next journal.
                FailOnThread(error);
            }
        }
    }

    private void TellAgain()
    {
        lock (_role) NotifyObserver();
    }

    /// <summary>
    /// Continues a journal that awaits space, at most once a second. A rebuild is needed after any other error, or if too much must be kept.
    /// </summary>
    private void TryResume()
    {
        long now = Stopwatch.GetTimestamp();
        if (now < Volatile.Read(ref _nextAttempt)) return;
        Volatile.Write(ref _nextAttempt, now + Stopwatch.Frequency);
        lock (_flushGate)
            lock (_role)
            {
                if (!AwaitsSpace) return;
                if (_buffer.Lsn - _writer.WrittenLsn > MostKept)
                {
                    Fail(new IOException("too much waits for space"));
                    return;
                }
                try
                {
                    _writer.Resume();
                }
                catch (Exception error)
                {
                    // The first failure is already reported.
                    if (!DiskFailure.IsLackOfSpace(error) || !_writer.TryAwaitSpace()) Fail(error);
                    return;
                }
                NothingIsLost();
                NotifyObserver();
                try
                {
                    _observer.OnResumed();
                }
                catch (Exception)
                {
                    // The journal goes on, also if there was no memory to say so.
                }
            }
    }

    private void FailOnThread(Exception error)
    {
        lock (_role)
            if (IsKeeping || AwaitsSpace) Fail(error);
        Thread.Sleep(TimeBetweenErrors);
    }

    private void RunAlways()
    {
        if (_buffer.HasPending || _writer.HasUnflushed)
        {
            LetRoundsEnd();
            lock (_flushGate)
                lock (_role)
                    Write(flush: true, maySwitch: true);
        }
        else if (!Sleep(IdleTime))
        {
            Mark();
        }
    }

    private void RunRelaxed()
    {
        if (_buffer.HasPending)
        {
            lock (_flushGate)
                lock (_role)
                    Write(flush: false, maySwitch: true);
        }
        long now = Stopwatch.GetTimestamp();
        if (Policy == FlushPolicy.EverySecond && now >= Volatile.Read(ref _nextFlush))
        {
            lock (_flushGate)
            {
                // Another thread may have flushed ahead while this one waited.
                if (now >= _nextFlush)
                {
                    _nextFlush = now + Stopwatch.Frequency;
                    FlushBeside(mayPostpone: true);
                }
            }
        }
        TimeSpan untilFlush = Stopwatch.GetElapsedTime(now, Volatile.Read(ref _nextFlush));
        if (!Sleep(untilFlush > TimeSpan.Zero ? untilFlush : IdleTime)) Mark();
    }

    /// <summary>
    /// Flushes while event loops execute and reply. The caller holds the flush gate. If <paramref name="mayPostpone"/> is set, the
    /// loops do not write meanwhile, within the limits of <see cref="MayWriteDuringFlush"/>, because a write may take as long as
    /// the flush. This thread writes instead, so that a large rest does not delay the replies after the flush. Returns the duration
    /// in ticks, 0 if there was nothing to flush.
    /// </summary>
    private long FlushBeside(bool mayPostpone)
    {
        IncrementFile? file;
        long covers;
        lock (_role)
        {
            file = _writer.FileToFlush(out covers);
            if (file is null || !_writer.HasUnflushed) return 0;
        }
        long started = Stopwatch.GetTimestamp();
        if (mayPostpone) Volatile.Write(ref _sideFlushStart, started);
        _sideFlush.Begin(file);
        try
        {
            if (mayPostpone) NotifyWritten();
            while (!_sideFlush.Wait(TimeBetweenSideWrites)) WriteBesideFlush();
        }
        catch
        {
            // The end of this flush must not be taken for that of the next one.
            while (!_sideFlush.Wait(IdleTime)) continue;
            throw;
        }
        finally
        {
            Volatile.Write(ref _sideFlushStart, 0);
        }
        WriteBesideFlush();
        long took = Stopwatch.GetTimestamp() - started;
        lock (_role)
        {
            if (_sideFlush.Failure is { } error)
            {
                // If the file was disposed, a concurrent write failed and the failure is already reported.
                if (IsKeeping || AwaitsSpace) Fail(error);
                return 0;
            }
            _observer.OnFlushed(took);
            _writer.Flushed(covers);
            _flushes++;
            NotifyObserver();
        }
        return took;
    }

    private void WriteBesideFlush()
    {
        if (!_buffer.HasPending) return;
        lock (_role) Write(flush: false, maySwitch: false);
    }

    /// <summary>
    /// Writes a mark while the journal is idle. The mark states how far the file is durable, so that recovery can tell
    /// damage from a torn tail.
    /// </summary>
    private void Mark()
    {
        lock (_flushGate)
            lock (_role)
                if (!_buffer.HasPending && _writer.HasUnmarked) Guarded(_writer.WriteMark, isFinal: true);
    }

    /// <summary>Waits until no event loop is in a round, but for less time than a flush takes.</summary>
    private void LetRoundsEnd()
    {
        long until = Stopwatch.GetTimestamp() + (long)_flushTicks / 2;
        while (true)
        {
            Volatile.Write(ref _threadWaits, 1);
            Interlocked.MemoryBarrier();
            long left = until - Stopwatch.GetTimestamp();
            if (!_rounds.AnyInRound || left <= 0 || !_wake.Wait(Stopwatch.GetElapsedTime(0, left))) break;
        }
        Volatile.Write(ref _threadWaits, 0);
    }

    /// <summary>Waits for work. Returns false if the time elapsed.</summary>
    private bool Sleep(TimeSpan time)
    {
        Volatile.Write(ref _threadWaits, 1);
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref _untold) && time > TimeBetweenErrors) time = TimeBetweenErrors;
        bool woken = (_buffer.HasPending && IsKeeping) || _wake.Wait(time);
        Volatile.Write(ref _threadWaits, 0);
        return woken;
    }
}
