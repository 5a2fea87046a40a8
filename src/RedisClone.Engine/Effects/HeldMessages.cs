using RedisClone.Memory;

namespace RedisClone.Engine.Effects;

/// <summary>A receiver of messages. Any thread may send to it, also under a hold.</summary>
internal interface IMessageTarget
{
    /// <param name="message">The message.</param>
    /// <param name="lsn">The LSN of the effects that the message may show, or <see cref="HeldMessages.Unknown"/>.</param>
    void PushNow(byte[] message, long lsn);

    /// <summary>Whether messages of this many bytes exceed what may wait for the receiver.</summary>
    bool IsTooMuch(long bytes);

    /// <summary>
    /// Reports that a message was lost, so that the receiver does not continue as if it had arrived. It must not throw.
    /// </summary>
    void Lose();
}

/// <summary>
/// Holds back the messages (published messages, key events, invalidations) of the unit of effects that a thread executes.
/// They leave together when the unit has its LSN. A receiver then waits until this LSN is safe, so it cannot learn of an effect
/// that a crash may still undo.
/// </summary>
/// <param name="order">Orders the units of all threads of the server.</param>
/// <param name="most">The bytes that are never exceeded.</param>
internal sealed class HeldMessages(MessageOrder order, long most)
{
    /// <summary>The message may show any effect until now.</summary>
    public const long Unknown = -1;

    private const int BytesPerMessage = 16;

    /// <summary>The bytes at which the receivers' limits are looked at, and the usual bytes that are never exceeded.</summary>
    private static readonly long s_noticed = HeapLimit.Part(32, 32 << 20), s_most = HeapLimit.Part(8, 1L << 30);

    private readonly List<(IMessageTarget To, byte[] Message)> _held = [];
    private HashSet<IMessageTarget>? _lost;     // the receivers that were given up in this unit
    private byte[]? _last, _lastButOne;         // a message has one form for each version of the protocol
    private long _bytes, _limit = s_noticed;

    public HeldMessages(MessageOrder order)
        : this(order, s_most)
    {
    }

    public bool IsHolding { get; private set; }

    public void Hold() => IsHolding = true;

    /// <summary>
    /// Holds messages back until the result is disposed of: messages that no unit sends get a place in the order too. Within a unit, they
    /// leave with it.
    /// </summary>
    public Together HoldTogether()
    {
        bool isAlone = !IsHolding;
        IsHolding = true;
        return new Together(isAlone ? this : null);
    }

    /// <summary>Holds a message back; false if messages are not held back now.</summary>
    public bool TryAdd(IMessageTarget to, byte[] message)
    {
        if (!IsHolding) return false;
        if (_lost is not null && _lost.Contains(to)) return true;
        _held.Add((to, message));
        Count(message);
        if (_bytes > _limit) Shed();
        return true;
    }

    /// <summary>Takes a message back that this unit has sent to its receivers.</summary>
    public void Withdraw(byte[] message) => _held.RemoveAll(held => held.Message == message);

    /// <summary>Counts the bytes of a message. Its receivers share them.</summary>
    private void Count(byte[] message)
    {
        _bytes += BytesPerMessage;
        if (message == _last || message == _lastButOne) return;
        _bytes += message.Length;
        (_last, _lastButOne) = (message, _last);
    }

    /// <summary>
    /// Gives up the receivers for which too much waits: a script may publish gigabytes before it ends. If that is not enough, half of the
    /// receivers follow, those with the most bytes.
    /// </summary>
    private void Shed()
    {
        var bytes = new Dictionary<IMessageTarget, long>();
        foreach ((IMessageTarget to, byte[] message) in _held) bytes[to] = bytes.GetValueOrDefault(to) + message.Length;
        Remove([.. bytes.Where(static pair => pair.Key.IsTooMuch(pair.Value)).Select(static pair => pair.Key)]);
        IMessageTarget[] rest = [.. bytes.Keys.Where(to => _lost?.Contains(to) != true).OrderByDescending(to => bytes[to])];
        for (int from = 0, half; _bytes > most && from < rest.Length; from += half)
        {
            half = (rest.Length - from + 1) / 2;
            Remove(rest[from..(from + half)]);
        }
        _limit = Math.Clamp(2 * _bytes, Math.Min(s_noticed, most), most);
    }

    private void Remove(IMessageTarget[] lost)
    {
        if (lost.Length == 0) return;
        _lost ??= [];
        _lost.UnionWith(lost);
        foreach (IMessageTarget to in lost) to.Lose();
        _held.RemoveAll(held => _lost.Contains(held.To));
        (_bytes, _last, _lastButOne) = (0, null, null);
        foreach ((_, byte[] message) in _held) Count(message);
    }

    /// <param name="lsn">The LSN of what the unit has changed and seen, or <see cref="Unknown"/>.</param>
    public void Release(long lsn)
    {
        IsHolding = false;
        if (_bytes != 0 || _lost is not null) Deliver(lsn);
    }

    private void Deliver(long lsn)
    {
        (_bytes, _last, _lastButOne, _limit, _lost) = (0, null, null, s_noticed, null);
        ulong locks = 0;
        bool isInOrder = false;
        try
        {
            foreach ((IMessageTarget to, _) in _held) locks |= MessageOrder.LockOf(to);
            isInOrder = order.TryEnter(locks);
            foreach ((IMessageTarget to, byte[] message) in _held)
            {
                if (!isInOrder || !TryPush(to, message, lsn)) to.Lose();
            }
        }
        finally
        {
            if (isInOrder) order.Exit(locks);
            _held.Reuse();
        }
    }

    private static bool TryPush(IMessageTarget to, byte[] message, long lsn)
    {
        try
        {
            to.PushNow(message, lsn);
            return true;
        }
        catch (OutOfMemoryException)
        {
            return false;
        }
    }

    /// <summary>Ends what <see cref="HoldTogether"/> began.</summary>
    public readonly ref struct Together(HeldMessages? held)
    {
        public void Dispose() => held?.Release(Unknown);
    }
}
