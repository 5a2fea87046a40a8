using System.Collections.Immutable;
using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Pubsub;

namespace RedisClone.Engine.Acl;

/// <summary>
/// All users by name. A lock serializes changes; lookups take no lock. A change disconnects clients whose user is deleted, and
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
        Superuser = new User("(superuser)", Unrestricted());
        _byName = _byName.Add(DefaultName, Default);
        SetDefaultPassword(server.Config.RequirePass);
    }

    /// <summary>The user of every new connection. It always exists and is always this object.</summary>
    public User Default { get; }

    /// <summary>
    /// The user of commands that no client sends: those of a primary and of a journal. It may do everything, has no entry in the table, and
    /// does not depend on the rules of the default user.
    /// </summary>
    public User Superuser { get; }

    /// <summary>New connections must authenticate first.</summary>
    public bool MustAuthenticate => Default.Permissions is not { Enabled: true, NoPassword: true };

    /// <summary>The users, sorted by the bytes of their names.</summary>
    public IEnumerable<User> All => _byName.Values;

    public int Count => _byName.Count;

    public User? Find(ReadOnlySpan<byte> name) => _byName.GetValueOrDefault(AccessText.Of(name));

    /// <summary>Applies requirepass. An empty value means that no password is required.</summary>
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

    /// <summary>Creates or changes a user. Either all rules are applied or none.</summary>
    /// <param name="name">The user's name, one char per byte.</param>
    /// <param name="words">The rules, one char per byte.</param>
    /// <param name="author">The client that runs the command. It receives its reply even if the change disconnects it.</param>
    /// <returns>Null, or the error.</returns>
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

    /// <summary>Replaces all users. The default user gets its initial permissions if the new users do not include it.</summary>
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

    /// <summary>The lines of an ACL file or configuration file, each beginning with the word `user`.</summary>
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
        // A client that is subscribing may have seen the old permissions. It checks them again after its channel is in the
        // hub's table. The full fence guarantees that either the client sees the new permissions or this thread sees the client
        // in the table.
        Interlocked.MemoryBarrier();
        if (!changed.AllChannels) DropSubscribers(user, before, [.. changed.Channels], author);
    }

    /// <summary>
    /// Removes all permissions of a deleted user and disconnects its clients. A client may find the user while it is being
    /// deleted and authenticate as it, but then has no permissions.
    /// </summary>
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
