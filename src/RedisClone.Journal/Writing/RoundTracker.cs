using System.Runtime.InteropServices;

namespace RedisClone.Journal.Writing;

/// <summary>
/// Records which event loops are in a round: after a loop has found readable sockets and before it has executed their
/// commands. Each loop writes only its own cell, and the cells do not share cache lines.
/// </summary>
internal sealed class RoundTracker(int loops)
{
    private readonly Cell[] _cells = new Cell[loops + 1];

    public void Start(int loop) => Volatile.Write(ref _cells[loop].InRound, true);

    public void End(int loop) => Volatile.Write(ref _cells[loop].InRound, false);

    public bool AnyInRound
    {
        get
        {
            for (int i = 0; i < loops; i++)
                if (Volatile.Read(ref _cells[i].InRound)) return true;
            return false;
        }
    }

    [StructLayout(LayoutKind.Explicit, Size = 128)]
    private struct Cell
    {
        [FieldOffset(64)]
        public bool InRound;
    }
}
