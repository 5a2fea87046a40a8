using RedisClone.Configuration;
using RedisClone.Engine.Clients;

namespace RedisClone.Engine.Acl;

/// <summary>A refusal and its count. Equal refusals within a minute share one entry.</summary>
internal sealed record AccessLogEntry(long Id, DenialReason Reason, string Context, byte[] Object, string User, long CreatedAt)
{
    public long Count { get; init; } = 1;

    public long UpdatedAt { get; init; } = CreatedAt;

    public string ClientInfo { get; init; } = "";
}

/// <summary>The recent refusals, for ACL LOG. It has at most acllog-max-len entries.</summary>
internal sealed class AccessLog(ServerConfig config)
{
    private const long GroupedMilliseconds = 60_000;
    private const int Compared = 10;

    /// <summary>The log is not part of what clients are charged for, so an entry is small, also if a key or a client's name is long.</summary>
    private const int MostText = 1024, MostInfo = 4096;

    private readonly Lock _gate = new();
    private readonly LinkedList<AccessLogEntry> _entries = new();
    private long _nextId;

    /// <param name="client">The client that was refused.</param>
    /// <param name="reason">The kind of refusal.</param>
    /// <param name="context">toplevel, multi or lua.</param>
    /// <param name="about">The command, key or channel.</param>
    /// <param name="user">The name of the client's user, or the name it tried to authenticate with; one char per byte.</param>
    public void Add(Session client, DenialReason reason, string context, byte[] about, string user)
    {
        if (config.AclLogMaxLen == 0) return;
        if (about.Length > MostText) about = about[..MostText];
        if (user.Length > MostText) user = user[..MostText];
        long now = ServerCore.UnixMilliseconds();
        string info = ClientDescription.DuringCommand(client);
        if (info.Length > MostInfo) info = info[..MostInfo];
        lock (_gate)
        {
            if (FindAlike(reason, context, about, user, now) is { } known)
            {
                _entries.Remove(known);
                _entries.AddFirst(known.Value with { Count = known.Value.Count + 1, UpdatedAt = now, ClientInfo = info });
                return;
            }
            _entries.AddFirst(new AccessLogEntry(_nextId++, reason, context, about, user, now) { ClientInfo = info });
            while (_entries.Count > config.AclLogMaxLen) _entries.RemoveLast();
        }
    }

    /// <summary>Returns at most <paramref name="most"/> entries, newest first.</summary>
    public AccessLogEntry[] Read(long most)
    {
        lock (_gate) return [.. _entries.Take((int)Math.Min(most, _entries.Count))];
    }

    public void Reset()
    {
        lock (_gate) _entries.Clear();
    }

    private LinkedListNode<AccessLogEntry>? FindAlike(DenialReason reason, string context, byte[] about, string user, long now)
    {
        LinkedListNode<AccessLogEntry>? node = _entries.First;
        for (int i = 0; i < Compared && node is not null; i++, node = node.Next)
        {
            AccessLogEntry entry = node.Value;
            if (entry.Reason == reason && entry.Context == context && entry.User == user && Math.Abs(now - entry.UpdatedAt) <= GroupedMilliseconds
                && entry.Object.AsSpan().SequenceEqual(about)) return node;
        }
        return null;
    }
}
