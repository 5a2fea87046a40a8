using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Replication.Following;

/// <summary>Replaces the data of this server by a copy of its primary's, together with the journal and the role.</summary>
/// <param name="server">The server.</param>
/// <param name="follower">The link to the primary.</param>
/// <param name="offer">What the primary offered.</param>
/// <param name="held">Runs an action while every shard is held.</param>
internal sealed class CopyLoad(ServerCore server, Follower follower, Offer offer, Action<Action> held)
{
    /// <summary>Checks a received file, deletes the old data and loads the file.</summary>
    public void Replace(IDiskFile file)
    {
        var loader = new CopyLoader(server);
        if ((server.Snapshots.HasKeys || server.Scripts.Libraries.All.Count > 0) && loader.Check(file) is { } damage)
            throw new IOException($"The snapshot of the master cannot be loaded, the old data stays: {damage}");
        WithoutJournal(() =>
        {
            string? failure = loader.Load(file);
            if (failure is null) server.Role.Copied(offer, loader.Database);
            else server.Role.ForgetPosition(follower);
            return failure;
        });
    }

    /// <summary>Replaces the old data by data that is loaded already.</summary>
    public void Publish(CopyBeside beside) => WithoutJournal(() =>
    {
        string? failure = beside.Publish();
        if (failure is null) server.Role.Copied(offer, beside.Database);
        return failure;
    });

    /// <summary>
    /// The journal begins again after the copy, because what it has does not lead to the new data. If this server is promoted
    /// meanwhile, it refuses writes until the journal has begun.
    /// </summary>
    private void WithoutJournal(Func<string?> load)
    {
        try
        {
            string? failure = null;
            held(() =>
            {
                server.Rewrites.Suspend();
                server.Backups.DataReplaced();
                failure = load();
            });
            if (failure is not null) throw new UnloadableCopyException($"Failed trying to load the MASTER synchronization DB: {failure}");
        }
        finally
        {
            server.Rewrites.Restore();
        }
    }
}
