using RedisClone.Scheduling;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// Decides how many event loops serve connections. At a low load one loop serves all: its batches are larger and its wake-ups fewer. A
/// further loop joins when the others are busy, and leaves when the others can do its work. A loop gives connections away itself, between
/// two rounds.
/// </summary>
internal sealed class LoopBalance(bool isByLoad)
{
    /// <summary>Thousandths of the time: a loop with this load gives some of it away.</summary>
    private const int Busy = 600;

    /// <summary>Two loops whose loads differ by less stay as they are.</summary>
    private const int Difference = 250;

    /// <summary>The last loop leaves if the load is less than this for each of the others.</summary>
    private const int Light = 350;

    /// <summary>Connections that move at once, so that the others do not wait for long.</summary>
    private const int MovesAtOnce = 512;

    private readonly Lock _gate = new();
    private Loop[] _loops = [];
    private int _active = 1;
    private bool _hasEnded;

    /// <summary>
    /// Whether loops join and leave. Otherwise all serve the same number of connections all the time, as on a system that does not report
    /// the load of a thread.
    /// </summary>
    public bool IsByLoad { get; } = isByLoad && ThreadTimes.Own() is not null;

    /// <summary>The loops below this number serve connections. Each accepted connection and each limit of output reads it; it changes seldom.</summary>
    public int Active => Volatile.Read(ref _active);

    public void Begin(Loop[] loops)
    {
        _loops = loops;
        Volatile.Write(ref _active, IsByLoad ? 1 : loops.Length);
    }

    /// <summary>After this no connection moves, so none arrives at a loop that has stopped.</summary>
    public void End()
    {
        lock (_gate) _hasEnded = true;
    }

    /// <summary>On an event loop, between two rounds: measures its load and moves connections if that is needed.</summary>
    public void Look(Loop loop, int turn)
    {
        bool hasMeasured = loop.Load.TryMeasure(turn);
        lock (_gate)
        {
            if (_hasEnded || !loop.MayMove || !hasMeasured && loop.Number < _active) return;
            Span<int> loads = stackalloc int[_active];
            for (int i = 0; i < _active; i++) loads[i] = _loops[i].Load.Permille;
            if (loop.Number >= _active) MoveAll(loop);
            else if (MayLeave(loads)) Leave();
            else if (Target(loads, loop.Number, _loops.Length) is not (>= 0 and int target)) loop.Load.IsCounting = false;
            else if (!loop.Load.IsCounting) Count(loop);
            else Share(loop, _loops[target]);
        }
    }

    /// <summary>On an event loop, between two rounds: moves the quiet connections as a test says.</summary>
    public void Move(Loop loop, Func<LoopConnection, Loop> choose)
    {
        lock (_gate)
        {
            if (_hasEnded || !loop.MayMove) return;
            foreach (LoopConnection connection in loop.Watched.ToArray()) Move(connection, choose(connection));
        }
    }

    /// <summary>Whether the last of these loops should leave the connections to the others.</summary>
    internal static bool MayLeave(ReadOnlySpan<int> loads)
    {
        int sum = 0;
        foreach (int load in loads) sum += load;
        return sum < Light * (loads.Length - 1);
    }

    /// <summary>
    /// The number of the loop that should take a part of this loop's load: the one with the least load, or one that joins. -1 if none should.
    /// </summary>
    internal static int Target(ReadOnlySpan<int> loads, int loop, int loops)
    {
        if (loads[loop] < Busy) return -1;
        int least = 0;
        for (int i = 1; i < loads.Length; i++)
            if (loads[i] < loads[least]) least = i;
        if (loads[loop] - loads[least] >= Difference) return least;
        return loads.Length < loops ? loads.Length : -1;
    }

    private static bool Move(LoopConnection connection, Loop target)
    {
        Loop from = connection.Loop;
        if (target == from || !connection.TryMove(target)) return false;
        from.Load.CountMoved();
        return true;
    }

    private void Leave()
    {
        Volatile.Write(ref _active, _active - 1);
        _loops[_active].Load.Hurry();
    }

    /// <summary>
    /// For a loop that has left: its quiet connections go to the others in turn. The rest stays until it is quiet when the loop looks again.
    /// </summary>
    private void MoveAll(Loop loop)
    {
        int moved = 0;
        foreach (LoopConnection connection in loop.Watched)
            if (Move(connection, _loops[moved % _active]) && ++moved == MovesAtOnce) break;
        if (moved == MovesAtOnce) loop.Load.Hurry();
    }

    /// <summary>
    /// The work of each connection until the next look shows which ones to move. A load that does not last until then moves none.
    /// </summary>
    private static void Count(Loop loop)
    {
        foreach (LoopConnection connection in loop.Watched) connection.Work = 0;
        loop.Load.IsCounting = true;
    }

    /// <summary>Moves half of the difference of two loads.</summary>
    private void Share(Loop loop, Loop target)
    {
        loop.Load.IsCounting = false;
        bool joins = target.Number == _active;
        (int load, int other) = (loop.Load.Permille, joins ? 0 : target.Load.Permille);
        long all = loop.Watched.Sum(static connection => (long)connection.Work);
        long left = all * (load - other) / 2 / load, wanted = left;
        int moved = 0;
        foreach (LoopConnection connection in loop.Watched)
        {
            if (connection.Work == 0 || connection.Work > left) continue;
            int work = connection.Work;
            if (!Move(connection, target)) continue;
            left -= work;
            if (++moved == MovesAtOnce) break;
        }
        if (moved == 0) return;
        if (joins) Volatile.Write(ref _active, _active + 1);
        int given = (int)((wanted - left) * load / all);
        loop.Load.Permille = load - given;
        target.Load.Permille = other + given;
    }
}
