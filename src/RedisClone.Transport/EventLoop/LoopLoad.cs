using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// The part of the time for which an event loop has work: its thread runs, or waits for a processor. The thread measures it in its rounds, so
/// a loop without work measures nothing.
/// </summary>
internal sealed class LoopLoad(Loop loop)
{
    private const int LookMilliseconds = 100, FreshMilliseconds = 3 * LookMilliseconds;

    private long _due, _looked;
    private TimeSpan _worked;
    private int _turn = -1;
    private int _load;
    private long _moved;

    /// <summary>On the event loop: whether it is time for another measurement.</summary>
    public bool IsDue => Environment.TickCount64 >= _due;

    /// <summary>On the event loop: whether the work of its connections has been counted since the last measurement.</summary>
    public bool IsCounting { get; set; }

    /// <summary>
    /// Thousandths of the time. A loop that has not measured lately either waits for events, or is in a long round. Other loops may read and
    /// adapt it.
    /// </summary>
    public int Permille
    {
        get => Environment.TickCount64 - Volatile.Read(ref _looked) <= FreshMilliseconds ? Volatile.Read(ref _load) : loop.Sleeps ? 0 : 1000;
        set => Volatile.Write(ref _load, value);
    }

    /// <summary>Connections that have left the loop for another one. Any thread may read it.</summary>
    public long Moved => Volatile.Read(ref _moved);

    public void CountMoved() => Volatile.Write(ref _moved, _moved + 1);

    /// <summary>
    /// On the event loop: measures the load since the last measurement. Returns false if the system does not tell it, or if the thread has
    /// changed, because the times of two threads cannot be compared.
    /// </summary>
    public bool TryMeasure(int turn)
    {
        long now = Environment.TickCount64, elapsed = now - _looked;
        _due = now + LookMilliseconds;
        if (ThreadTimes.Own() is not var (ran, waited)) return false;
        TimeSpan worked = ran + waited;
        bool isSame = turn == _turn && elapsed > 0;
        if (isSame) Permille = (int)Math.Clamp((worked - _worked).TotalMilliseconds * 1000 / elapsed, 0, 1000);
        (_worked, _turn) = (worked, turn);
        Volatile.Write(ref _looked, now);
        return isSame;
    }

    /// <summary>Makes the loop look at the end of its next round. Any thread may call it.</summary>
    public void Hurry() => loop.Post(static load => ((LoopLoad)load!)._due = 0, this);
}
