namespace RedisClone.Engine.Caching;

/// <summary>
/// The clients in broadcast mode by prefix. Threads that change keys read one immutable array without a lock. A change of the
/// clients replaces the array.
/// </summary>
internal sealed class Prefixes
{
    private readonly Lock _changing = new();
    private Prefix[] _all = [];

    public int Count => _all.Length;

    /// <summary>Replaces the former options of a client by its new ones.</summary>
    public void Replace(ClientTracking? before, ClientTracking? after)
    {
        lock (_changing)
        {
            var clients = new Dictionary<byte[], ClientTracking[]>(ByteComparer.Instance);
            foreach (Prefix prefix in _all)
                if (prefix.Clients.Where(c => c != before).ToArray() is { Length: > 0 } others) clients[prefix.Text] = others;
            foreach (byte[] prefix in after?.Prefixes ?? []) clients[prefix] = [.. clients.GetValueOrDefault(prefix, []), after!];
            _all = [.. clients.Select(pair => new Prefix(pair.Key, pair.Value))];
        }
    }

    /// <summary>
    /// Sends the invalidations of changed keys, one for each prefix and client. A client with NOLOOP does not receive the keys
    /// that it changed last itself.
    /// </summary>
    public void Notify(Dictionary<byte[], ClientTracking?> changed, Action<ClientTracking, Invalidation> send)
    {
        foreach (Prefix prefix in _all)
        {
            List<byte[]> keys = [.. changed.Keys.Where(key => key.AsSpan().StartsWith(prefix.Text))];
            if (keys.Count == 0) continue;
            var common = new Invalidation(keys);
            foreach (ClientTracking client in prefix.Clients)
            {
                List<byte[]> news = (client.Modes & TrackingModes.NoLoop) == 0 ? keys : [.. keys.Where(key => !client.IsDeafTo(changed[key]))];
                if (news.Count > 0) send(client, news.Count == keys.Count ? common : new Invalidation(news));
            }
        }
    }

    private sealed record Prefix(byte[] Text, ClientTracking[] Clients);
}
