using System.Numerics;
using System.Runtime.CompilerServices;

namespace RedisClone.Engine.Effects;

/// <summary>
/// Orders the messages of units that threads end at the same time. While a unit delivers, it holds a lock for each of its receivers, so two
/// receivers see the messages that both receive in the same order, and the messages of one unit follow each other. Units without a common
/// receiver do not wait for each other, except for receivers that share a lock.
/// </summary>
internal sealed class MessageOrder
{
    private readonly Lock[] _locks = new Lock[64];   // one for each bit of an ulong

    public MessageOrder()
    {
        for (int i = 0; i < _locks.Length; i++) _locks[i] = new Lock();
    }

    /// <summary>The lock of a receiver, as a bit.</summary>
    public static ulong LockOf(IMessageTarget receiver) => 1UL << RuntimeHelpers.GetHashCode(receiver);

    /// <summary>
    /// Takes these locks. A thread that holds some must release them before it takes others. Returns false, with no lock taken, if a wait
    /// lacks memory.
    /// </summary>
    public bool TryEnter(ulong locks)
    {
        ulong left = locks;
        try
        {
            for (; left != 0; left &= left - 1) _locks[BitOperations.TrailingZeroCount(left)].Enter();
            return true;
        }
        catch (OutOfMemoryException)
        {
            Exit(locks & ~left);
            return false;
        }
    }

    public void Exit(ulong locks)
    {
        for (ulong left = locks; left != 0; left &= left - 1) _locks[BitOperations.TrailingZeroCount(left)].Exit();
    }
}
