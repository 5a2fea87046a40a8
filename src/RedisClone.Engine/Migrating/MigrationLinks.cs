using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Engine.Replication.Following;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Migrating;

/// <summary>The transfers of MIGRATE that run, and the connections that are kept for a further transfer to the same target.</summary>
internal sealed class MigrationLinks(ServerCore server)
{
    private const int MostLinks = 64;
    private const long UnusedMilliseconds = 10_000;

    private readonly Lock _gate = new();
    private readonly List<MigrationLink> _idle = [];
    private readonly List<Migration> _running = [];
    private int _runningCount;
    private int _closes;                // how often all connections were closed

    public int Count
    {
        get
        {
            lock (_gate) return _idle.Count;
        }
    }

    /// <summary>The number of MIGRATE commands that have begun and not ended.</summary>
    public int Running => Volatile.Read(ref _runningCount);

    /// <summary>Whether the values that wait for slow targets take so much memory that no further transfer may begin.</summary>
    public bool AreFull
    {
        get
        {
            if (Running == 0) return false;
            lock (_gate) return _running.Sum(static migration => migration.CountedBytes) >= Limits.MigratedBytes;
        }
    }

    public void Begun(Migration migration)
    {
        lock (_gate)
        {
            _running.Add(migration);
            Volatile.Write(ref _runningCount, _running.Count);
        }
    }

    public void Ended(Migration migration)
    {
        lock (_gate)
        {
            _running.Remove(migration);
            Volatile.Write(ref _runningCount, _running.Count);
        }
    }

    /// <summary>
    /// Whether a command must wait, because it may change a key that is being transferred. The target serves its copy already, and a
    /// second transfer would overwrite what its clients have written. The caller holds the shards of the command. A script or a
    /// transaction waits if one of its shards has such a key. RESTORE does not wait: two servers that hand a key over to each other would
    /// wait for each other.
    /// </summary>
    public bool MustWait(ref CommandContext c)
    {
        bool mayWrite = (c.Flags & (CommandFlags.Write | CommandFlags.RunsScript)) != 0 && !c.Row.Has(CommandFlags.ReadOnly);
        bool isOwn = c.Earlier is not null && c.Session.Migration is not null;
        if (!mayWrite || isOwn || c.Session.IsPrimary || c.Row.Handler == DumpCommands.RestoreHandler) return false;
        bool waits = false;
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        bool isNamed = (c.Flags & CommandFlags.RunsScript) == 0 && c.Row.Keys.Length > 0 && c.Row.CollectKeys(c.Args, ref positions);
        lock (_gate)
        {
            foreach (Migration migration in _running)
                foreach (MigratedKey key in migration.AllKeys)
                    waits |= isNamed ? Names(positions, c.Args, key.Name) : c.Held.Contains(server.Shards.IndexOf(server.Shards.HashOf(key.Name)));
        }
        positions.Dispose();
        return waits;
    }

    /// <summary>
    /// The same for the command of a blocked client, which may change other keys than the command that wakes it. It then runs again, and
    /// waits, by itself.
    /// </summary>
    public bool MustWait(Waiter waiter)
    {
        if (Running == 0 || !waiter.IsWrite) return false;
        lock (_gate)
        {
            foreach (Migration migration in _running)
                foreach (MigratedKey key in migration.AllKeys)
                    if (waiter.Changes(new DatabaseKey(migration.Database, key.Name))) return true;
        }
        return false;
    }

    private static bool Names(in KeyPositions positions, in Request request, ReadOnlySpan<byte> name)
    {
        for (int i = 0; i < positions.Count; i++)
            if (request[positions[i]].SequenceEqual(name)) return true;
        return false;
    }

    /// <summary>
    /// Notes that a RESTORE has replaced a key. If it is being transferred, it is transferred again: two servers that hand it over to each
    /// other would both delete it. The caller holds the key's shard.
    /// </summary>
    public void Restored(int database, ReadOnlySpan<byte> name)
    {
        if (Running == 0) return;
        lock (_gate)
        {
            foreach (Migration migration in _running)
            {
                if (migration.Database != database) continue;
                foreach (MigratedKey key in migration.AllKeys)
                    if (name.SequenceEqual(key.Name)) key.WasRestored = true;
            }
        }
    }

    /// <summary>A kept connection, which then belongs to the caller, or null.</summary>
    public MigrationLink? Take(string address)
    {
        lock (_gate)
        {
            int at = _idle.FindIndex(link => link.Address == address);
            if (at < 0) return null;
            MigrationLink found = _idle[at];
            _idle.RemoveAt(at);
            return found;
        }
    }

    /// <summary>Connects to a target. Every failure is an <see cref="IOException"/>.</summary>
    public async ValueTask<MigrationLink> ConnectAsync(MigrationTarget target, CancellationToken end)
    {
        if (server.Role.Connector is not { } connector) throw new IOException("this server has no network");
        bool encrypts = server.Config.TlsCluster;
        int closes = Volatile.Read(ref _closes);
        long now = ServerCore.UnixMilliseconds();
        try
        {
            IPrimaryConnection connection = await connector.ConnectAsync(target.Host, target.PortNumber, encrypts, end).ConfigureAwait(false);
            return new MigrationLink(target.Address, connection) { Closes = closes, BeganAt = now };
        }
        catch (IOException failure) when (encrypts)
        {
            // The error that the client gets is that of Redis, which does not say what is wrong with a file or a certificate.
            server.Log.LogWarning("MIGRATE cannot connect to {Address} with TLS: {Reason}", target.Address, failure.Message);
            throw;
        }
    }

    /// <summary>
    /// Whether a connection that was answered ends at this server: it is then also the connection of a client. An earlier client may have the
    /// same local port, because the system gives one to connections with different targets.
    /// </summary>
    public bool LeadsHere(MigrationLink link)
    {
        foreach (Session session in server.Sessions.Unordered)
            if (session.PeerName == link.LocalName && (session.LocalName == link.PeerName || session.CreatedAt >= link.BeganAt)) return true;
        return false;
    }

    public void Failed(Exception bug) => server.Failures.WorkFailed("MIGRATE failed unexpectedly", bug);

    /// <summary>
    /// Keeps a connection whose last transfer is complete. A target that has sent more than the replies is not trusted further: the next
    /// transfer would take the rest for its own replies.
    /// </summary>
    public void Return(MigrationLink link)
    {
        MigrationLink? surplus = null;
        link.UsedAt = ServerCore.UnixMilliseconds();
        lock (_gate)
        {
            if (link.Channel.Count > 0 || link.Closes != _closes)
            {
                surplus = link;
            }
            else
            {
                if (_idle.Count == MostLinks)
                {
                    surplus = _idle[0];
                    _idle.RemoveAt(0);
                }
                _idle.Add(link);
            }
        }
        surplus?.Dispose();
    }

    /// <summary>Closes the connections that have not been used for some seconds; called in every round of background work.</summary>
    public void Tend(long now)
    {
        lock (_gate)
        {
            foreach (MigrationLink link in _idle)
                if (now - link.UsedAt > UnusedMilliseconds) link.Dispose();
            _idle.RemoveAll(link => now - link.UsedAt > UnusedMilliseconds);
        }
    }

    /// <summary>Closes all kept connections, and those in use when they are returned.</summary>
    public void Close()
    {
        lock (_gate)
        {
            Volatile.Write(ref _closes, _closes + 1);
            foreach (MigrationLink link in _idle) link.Dispose();
            _idle.Clear();
        }
    }
}

/// <summary>A connection to the target of a MIGRATE.</summary>
internal sealed class MigrationLink(string address, IPrimaryConnection connection) : IDisposable
{
    private const int UsualReplies = 4096;

    public string Address => address;

    public PrimaryChannel Channel { get; } = new(connection, UsualReplies);

    /// <summary>The address of this end.</summary>
    public string LocalName => connection.LocalName;

    /// <summary>The address of the target's end. A target behind a translated address has another one.</summary>
    public string PeerName => connection.PeerName;

    /// <summary>The time in Unix milliseconds at which this server began to connect.</summary>
    public long BeganAt { get; init; }

    /// <summary>Whether the target has not answered yet.</summary>
    public bool IsNew { get; set; } = true;

    /// <summary>The database that the connection is in; -1 if that is not known.</summary>
    public long Database { get; set; } = -1;

    public long UsedAt { get; set; }

    /// <summary>How often all connections had been closed when this one was opened.</summary>
    public int Closes { get; init; }

    public void Dispose() => Channel.Dispose();
}
