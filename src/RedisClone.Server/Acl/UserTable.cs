using System.Collections.Immutable;
using System.Text;
using RedisClone.Server.Net;
using RedisClone.Server.Pubsub;

namespace RedisClone.Server.Acl;

/// <summary>
/// All users by name. Changes are made one at a time; lookups take no lock. A change disconnects clients whose user is deleted, and
/// clients with subscriptions that are no longer permitted.
/// </summary>
internal sealed class UserTable
{
    private const string DefaultName = "default";

    private readonly ServerCore _server;
    private readonly AccessRules _rules;
    private readonly Lock _changing = new();
    private volatile ImmutableSortedDictionary<string, User> _byName = ImmutableSortedDictionary.Create<string, User>(StringComparer.Ordinal);

    internal UserTable(ServerCore server, AccessRules rules)
    {
        _server = server;
        _rules = rules;
        Default = new User(DefaultName, Unrestricted());
        _byName = _byName.Add(DefaultName, Default);
        SetDefaultPassword(server.Config.RequirePass);
    }

    /// <summary>The user of every new connection: always there, always this object.</summary>
    public User Default { get; }

    /// <summary>New connections must log in first.</summary>
    public bool MustAuthenticate => Default.Permissions is not { Enabled: true, NoPassword: true };

    /// <summary>In the order of their names' bytes.</summary>
    public IEnumerable<User> All => _byName.Values;

    public int Count => _byName.Count;

    public User? Find(ReadOnlySpan<byte> name) => _byName.GetValueOrDefault(AccessText.Of(name));

    /// <summary>What requirepass says; empty is no password.</summary>
    public void SetDefaultPassword(string password)
    {
        lock (_changing)
        {
            Permissions changed = Default.Permissions.Clone();
            changed.Passwords.Clear();
            changed.NoPassword = password.Length == 0;
            if (!changed.NoPassword) changed.Passwords.Add(AccessText.HashOf(Encoding.UTF8.GetBytes(password)));
            Default.Permissions = changed;
        }
    }

    /// <summary>Changes or makes a user, by all the rules or by none; null, or why by none.</summary>
    /// <param name="name">One char a byte.</param>
    /// <param name="words">The rules, one char a byte.</param>
    /// <param name="author">The client that asks: its reply still leaves, whatever becomes of it.</param>
    internal string? Set(string name, IEnumerable<string> words, Session? author)
    {
        if (AccessRules.Merge(words, out string unmatched) is not { } rules) return $"Unmatched parenthesis in acl selector starting at '{unmatched}'.";
        lock (_changing)
        {
            User? user = _byName.GetValueOrDefault(name);
            Permissions changed = user?.Permissions.Clone() ?? _rules.NewUser();
            foreach (string rule in rules)
                if (_rules.Apply(changed, rule) is { } error) return $"Error in ACL SETUSER modifier '{rule}': {error}";
            if (user is null) _byName = _byName.Add(name, new User(name, changed));
            else Change(user, changed, author);
            return null;
        }
    }

    internal bool Delete(ReadOnlySpan<byte> name, Session author)
    {
        lock (_changing)
        {
            if (Find(name) is not { } user || user == Default) return false;
            _byName = _byName.Remove(user.Name);
            Bury(user, author);
            return true;
        }
    }

    /// <summary>Has exactly these users from now on; the default user is as it is at first unless it is among them.</summary>
    internal void Replace(IReadOnlyDictionary<string, Permissions> users, Session? author)
    {
        lock (_changing)
        {
            ImmutableSortedDictionary<string, User>.Builder byName = ImmutableSortedDictionary.CreateBuilder<string, User>(StringComparer.Ordinal);
            foreach ((string name, Permissions permissions) in users)
            {
                if (_byName.GetValueOrDefault(name) is { } user) Change(user, permissions, author);
                else user = new User(name, permissions);
                byName.Add(name, user);
            }
            if (byName.TryAdd(DefaultName, Default)) Change(Default, Unrestricted(), author);
            ImmutableSortedDictionary<string, User> before = _byName;
            _byName = byName.ToImmutable();
            foreach (User user in before.Values)
                if (!_byName.ContainsKey(user.Name)) Bury(user, author);
        }
    }

    /// <summary>Lines of a file, the word `user` first.</summary>
    internal IEnumerable<string> Lines() => All.Select(user => $"user {user.Name} {user.Permissions}");

    private Permissions Unrestricted()
    {
        Permissions all = _rules.NewUser();
        all.Enabled = all.NoPassword = true;
        all.Root.AllowAllKeys();
        all.Root.AllowAllChannels();
        all.Root.SetAllCommands(true);
        return all;
    }

    private void Change(User user, Permissions changed, Session? author)
    {
        Permissions before = user.Permissions;
        user.Permissions = changed;
        // A client that subscribes right now has seen the old permissions: it looks at them again after its channel is in the hub's table.
        // Full fence: either it sees the new ones, or we see it among the subscribers.
        Interlocked.MemoryBarrier();
        if (!changed.AllChannels) DropSubscribers(user, before, [.. changed.Channels], author);
    }

    /// <summary>A client that is just logging in as a user that is gone can have found it, but may do nothing with it.</summary>
    private void Bury(User user, Session? author)
    {
        user.Permissions = new Permissions(_rules.Table, allChannels: false);
        foreach (Session session in _server.Sessions.Unordered)
            if (session.User == user) Disconnect(session, author);
    }

    private void DropSubscribers(User user, Permissions before, byte[][] allowed, Session? author)
    {
        if (!before.AllChannels && before.Channels.All(channel => allowed.Any(a => a.AsSpan().SequenceEqual(channel)))) return;
        foreach (SubscriptionKind kind in Enum.GetValues<SubscriptionKind>())
        {
            foreach ((byte[] name, Session[] sessions) in _server.Hub[kind].All)
            {
                if (Selector.AllowsChannel(allowed, name, kind == SubscriptionKind.Pattern)) continue;
                foreach (Session session in sessions)
                    if (session.User == user) Disconnect(session, author);
            }
        }
    }

    private static void Disconnect(Session session, Session? author)
    {
        if (session == author) session.CloseAfterReply = true;
        else session.Connection?.Kill();
    }
}
