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
/// They leave when the unit has its LSN. A receiver then waits until this LSN is safe, so it cannot learn of an effect that a
/// crash may still undo.
/// </summary>
internal sealed class HeldMessages
{
    /// <summary>The message may show any effect until now.</summary>
    public const long Unknown = -1;

    private const int BytesPerMessage = 32;

    /// <summary>The bytes at which the receivers' limits are looked at, and the bytes that are never exceeded.</summary>
    private static readonly long s_noticed = HeapLimit.Part(32, 32 << 20), s_most = HeapLimit.Part(8, 256 << 20);

    private readonly List<(IMessageTarget To, byte[] Message)> _held = [];
    private byte[]? _last;
    private long _bytes, _limit = s_noticed;

    public bool IsHolding { get; private set; }

    public void Hold() => IsHolding = true;

    /// <summary>Holds a message back; false if messages are not held back now.</summary>
    public bool TryAdd(IMessageTarget to, byte[] message)
    {
        if (!IsHolding) return false;
        _held.Add((to, message));
        // The receivers of a message share its bytes.
        _bytes += BytesPerMessage + (message == _last ? 0 : message.Length);
        _last = message;
        if (_bytes > _limit) Shed();
        return true;
    }

    /// <summary>
    /// Gives up the receivers for which too much waits: a script may publish gigabytes before it ends. If that is not enough, the receivers
    /// with the most bytes follow.
    /// </summary>
    private void Shed()
    {
        var bytes = new Dictionary<IMessageTarget, long>();
        foreach ((IMessageTarget to, byte[] message) in _held) bytes[to] = bytes.GetValueOrDefault(to) + message.Length;
        HashSet<IMessageTarget> lost = [.. bytes.Where(static pair => pair.Key.IsTooMuch(pair.Value)).Select(static pair => pair.Key)];
        Remove(lost);
        if (_bytes > s_most)
        {
            foreach (IMessageTarget to in bytes.Keys.Where(to => !lost.Contains(to)).OrderByDescending(to => bytes[to]))
            {
                Remove([to]);
                if (_bytes <= s_most / 2) break;
            }
        }
        _limit = Math.Clamp(2 * _bytes, s_noticed, s_most);
    }

    private void Remove(HashSet<IMessageTarget> lost)
    {
        if (lost.Count == 0) return;
        foreach (IMessageTarget to in lost) to.Lose();
        _held.RemoveAll(held => lost.Contains(held.To));
        (_bytes, _last) = (0, null);
        foreach ((_, byte[] message) in _held)
        {
            _bytes += BytesPerMessage + (message == _last ? 0 : message.Length);
            _last = message;
        }
    }

    /// <param name="lsn">The LSN of what the unit has changed and seen.</param>
    public void Release(long lsn)
    {
        IsHolding = false;
        if (_held.Count == 0) return;
        (_bytes, _last, _limit) = (0, null, s_noticed);
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
