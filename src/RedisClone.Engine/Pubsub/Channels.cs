using System.Collections.Concurrent;
using RedisClone.Engine.Clients;

namespace RedisClone.Engine.Pubsub;

/// <summary>
/// The subscribers of each channel. A publisher reads one immutable array without a lock. A subscription replaces only the array
/// of its own channel.
/// </summary>
internal sealed class Channels
{
    private readonly ConcurrentDictionary<byte[], Session[]> _byName = new(ByteComparer.Instance);
    private readonly ConcurrentDictionary<byte[], Session[]>.AlternateLookup<ReadOnlySpan<byte>> _bySpan;

    public Channels() => _bySpan = _byName.GetAlternateLookup<ReadOnlySpan<byte>>();

    public bool IsEmpty => _byName.IsEmpty;

    public int Count => _byName.Count;

    public IEnumerable<KeyValuePair<byte[], Session[]>> All => _byName;

    public Session[] SubscribersOf(ReadOnlySpan<byte> name) => _bySpan.TryGetValue(name, out Session[]? sessions) ? sessions : [];

    public void Add(byte[] name, Session session) =>
        _byName.AddOrUpdate(name, static (_, added) => [added], static (_, sessions, added) => [.. sessions, added], session);

    public void Remove(byte[] name, Session session)
    {
        // A channel without subscribers is removed. If another client subscribes in between, the loop tries again.
        while (_byName.TryGetValue(name, out Session[]? sessions))
        {
            int at = Array.IndexOf(sessions, session);
            if (at < 0) return;
            if (sessions.Length == 1)
            {
                if (_byName.TryRemove(new KeyValuePair<byte[], Session[]>(name, sessions))) return;
                continue;
            }
            Session[] fewer = [.. sessions.AsSpan(0, at), .. sessions.AsSpan(at + 1)];
            if (_byName.TryUpdate(name, fewer, sessions)) return;
        }
    }
}
