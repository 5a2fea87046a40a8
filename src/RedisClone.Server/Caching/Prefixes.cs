namespace RedisClone.Server.Caching;

/// <summary>
/// Who is told of every change of keys with a prefix. Writers read one immutable array without a lock; whoever joins or leaves replaces
/// it.
/// </summary>
internal sealed class Prefixes
{
    private readonly Lock _changing = new();
    private Prefix[] _all = [];

    public int Count => _all.Length;

    /// <summary>Puts what a client wants now in the place of what it wanted before.</summary>
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

    /// <summary>Tells of changed keys, each with who changed it last: one message a prefix, and less to those who know what they did themselves.</summary>
    public void Tell(Dictionary<byte[], ClientTracking?> changed, Action<ClientTracking, Invalidation> send)
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
