namespace RedisClone.Server;

/// <summary>Who can be told something; any thread may, also under a hold.</summary>
internal interface IMessageTarget
{
    void PushNow(byte[] message);

    /// <summary>A message could not be sent: the client is not to go on as if it had been. Must not throw.</summary>
    void Lose();
}

/// <summary>
/// Messages to clients (published messages, key events, invalidations) of the unit that a thread executes. They leave when its effects
/// have their place in the one order: whoever gets such a message waits until everything placed by then is durable, and so
/// cannot learn of an effect that a crash may still take back.
/// </summary>
internal sealed class HeldMessages
{
    private readonly List<(IMessageTarget To, byte[] Message)> _held = [];

    public bool IsHolding { get; private set; }

    public void Hold() => IsHolding = true;

    /// <summary>False when nothing is held back now.</summary>
    public bool TryAdd(IMessageTarget to, byte[] message)
    {
        if (IsHolding) _held.Add((to, message));
        return IsHolding;
    }

    public void Release()
    {
        IsHolding = false;
        if (_held.Count == 0) return;
        foreach ((IMessageTarget to, byte[] message) in _held)
        {
            try
            {
                to.PushNow(message);
            }
            catch (OutOfMemoryException)
            {
                to.Lose();
            }
        }
        _held.Clear();
    }
}
