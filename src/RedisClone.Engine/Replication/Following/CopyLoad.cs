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
            throw new UnloadableCopyException($"The snapshot of the master cannot be loaded, the old data stays: {damage}");
        // As with redis-server, clients wait for a small copy, and get the error LOADING during a large one.
        bool isLarge = file.Length > server.Config.LoadingProcessEventsIntervalBytes;
        WithoutJournal(isDeleted: true, isLarge, () =>
        {
            string? failure = loader.Load(file);
            if (failure is null) server.Role.Copied(offer, loader.Database);
            else server.Role.LoseData(follower);
            return failure;
        });
    }

    /// <summary>Replaces the old data by data that is loaded already.</summary>
    public void Publish(CopyBeside beside) => WithoutJournal(isDeleted: false, isLarge: false, () =>
    {
        string? failure = beside.Publish();
        if (failure is null) server.Role.Copied(offer, beside.Database);
        else if (beside.HasReplaced) server.Role.LoseData(follower);
        return failure;
    });

    /// <summary>
    /// The journal begins again after the copy, because what it has does not lead to the new data. If this server is promoted
    /// meanwhile, it refuses writes until the journal has begun. Without any data, because the copy could not be loaded, the journal stays
    /// off: its files are the only data, and a restart loads them.
    /// </summary>
    private void WithoutJournal(bool isDeleted, bool isLarge, Func<string?> load)
    {
        bool had = !server.Rewrites.LacksData, hasData = had;
        try
        {
            string? failure = null;
            // The end of the journal takes a while, so clients get the error from its beginning on.
            held(() => failure = isLarge ? server.LoadAgain(ReplaceData, canBeCancelled: true) : ReplaceData());
            if (failure is not null) throw new UnloadableCopyException($"Failed trying to load the MASTER synchronization DB: {failure}");
        }
        finally
        {
            if (hasData) server.Rewrites.Restore();
        }

        string? ReplaceData()
        {
            server.Rewrites.Suspend();
            server.Backups.DataReplaced();
            hasData = had && !isDeleted;
            // Under the same hold: a promotion after it makes the journal begin.
            if (!hasData) server.Rewrites.StaySuspended();
            string? problem = load();
            hasData |= problem is null;
            return problem;
        }
    }
}
