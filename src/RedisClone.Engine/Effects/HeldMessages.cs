namespace RedisClone.Engine.Effects;

/// <summary>A receiver of messages. Any thread may send to it, also under a hold.</summary>
internal interface IMessageTarget
{
    /// <param name="message">The message.</param>
    /// <param name="lsn">The LSN of the effects that the message may show, or <see cref="HeldMessages.Unknown"/>.</param>
    void PushNow(byte[] message, long lsn);

    /// <summary>
    /// Reports that a message was lost, so that the receiver does not continue as if it had arrived. It must not throw.
    /// </summary>
    void Lose();
}

/// <summary>
/// Holds back the messages (published messages, key events, invalidations) of the unit of effects that a thread executes.
/// They leave when the unit has its LSN. A receiver then waits until this LSN is safe, so it cannot learn of an effect that a
/// crash may still undo.
/// </summary>
internal sealed class HeldMessages
{
    /// <summary>The message may show any effect until now.</summary>
    public const long Unknown = -1;

    private readonly List<(IMessageTarget To, byte[] Message)> _held = [];

    public bool IsHolding { get; private set; }

    public void Hold() => IsHolding = true;

    /// <summary>Holds a message back; false if messages are not held back now.</summary>
    public bool TryAdd(IMessageTarget to, byte[] message)
    {
        if (IsHolding) _held.Add((to, message));
        return IsHolding;
    }

    /// <param name="lsn">The LSN of what the unit has changed and seen.</param>
    public void Release(long lsn)
    {
        IsHolding = false;
        if (_held.Count == 0) return;
        foreach ((IMessageTarget to, byte[] message) in _held)
        {
            try
            {
                to.PushNow(message, lsn);
            }
            catch (OutOfMemoryException)
            {
                to.Lose();
            }
        }
        _held.Reuse();
    }
}
