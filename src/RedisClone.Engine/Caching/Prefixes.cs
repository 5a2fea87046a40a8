using System.Runtime.InteropServices;

namespace RedisClone.Engine.Caching;

/// <summary>
/// The clients in broadcast mode by prefix. Threads that change keys read one immutable table without a lock. A change of the
/// clients replaces the table. A key is looked up once for each length that a prefix has.
/// </summary>
internal sealed class Prefixes
{
    private readonly Lock _changing = new();
    private Table _table = new(new Dictionary<byte[], ClientTracking[]>(ByteComparer.Instance));

    public int Count => _table.Clients.Count;

    /// <summary>Replaces the former options of a client by its new ones.</summary>
    public void Replace(ClientTracking? before, ClientTracking? after)
    {
        lock (_changing)
        {
            var clients = new Dictionary<byte[], ClientTracking[]>(ByteComparer.Instance);
            foreach ((byte[] prefix, ClientTracking[] all) in _table.Clients)
                if (all.Where(c => c != before).ToArray() is { Length: > 0 } others) clients[prefix] = others;
            foreach (byte[] prefix in after?.Prefixes ?? []) clients[prefix] = [.. clients.GetValueOrDefault(prefix, []), after!];
            _table = new Table(clients);
        }
    }

    /// <summary>
    /// Sends the invalidations of changed keys, one for each prefix and client. A client with NOLOOP does not receive the keys
    /// that it changed last itself.
    /// </summary>
    public void Notify(Dictionary<byte[], ClientTracking?> changed, Action<ClientTracking, Invalidation> send)
    {
        Table table = _table;
        foreach ((byte[] prefix, List<byte[]> keys) in table.Match(changed.Keys))
        {
            var common = new Invalidation(keys);
            foreach (ClientTracking client in table.Clients[prefix])
            {
                List<byte[]> news = (client.Modes & TrackingModes.NoLoop) == 0 ? keys : [.. keys.Where(key => !client.IsDeafTo(changed[key]))];
                if (news.Count > 0) send(client, news.Count == keys.Count ? common : new Invalidation(news));
            }
        }
    }

    private sealed class Table(Dictionary<byte[], ClientTracking[]> clients)
    {
        private readonly int[] _lengths = [.. clients.Keys.Select(static prefix => prefix.Length).Distinct().Order()];
        private readonly Dictionary<byte[], ClientTracking[]>.AlternateLookup<ReadOnlySpan<byte>> _bySpan = clients.GetAlternateLookup<ReadOnlySpan<byte>>();

        public Dictionary<byte[], ClientTracking[]> Clients => clients;

        /// <summary>The prefixes that these keys have, each with its keys.</summary>
        public Dictionary<byte[], List<byte[]>> Match(IEnumerable<byte[]> keys)
        {
            var matches = new Dictionary<byte[], List<byte[]>>(ByteComparer.Instance);
            foreach (byte[] key in keys)
            {
                foreach (int length in _lengths)
                {
                    if (length > key.Length) break;
                    if (_bySpan.TryGetValue(key.AsSpan(0, length), out byte[]? prefix, out _))
                        (CollectionsMarshal.GetValueRefOrAddDefault(matches, prefix, out _) ??= []).Add(key);
                }
            }
            return matches;
        }
    }
}
