using RedisClone.Storage;

namespace RedisClone.Server.Durability;

/// <summary>Where one shard's records are written down, by whichever thread holds the shard, and packed for the snapshot's file.</summary>
internal sealed class ShardCapture(SnapshotRun run) : ICaptureSink
{
    private const int PackageBytes = 32 * 1024;

    private Package? _package;
    private int _database;

    /// <summary>Sends what is packed.</summary>
    public void Flush()
    {
        if (_package is null) return;
        run.Send(_package);
        _package = null;
    }

    void ICaptureSink.Take(int database, in Entry entry)
    {
        if (run.IsOver) return;
        IKeyForm form = run.Form;
        bool isNew = _package is null;
        form.Begin(_package ??= new Package());
        try
        {
            if (isNew || database != _database) form.Select(database);
            form.Key(entry);
        }
        catch (Exception bug)
        {
            // Somebody's command is being run: it must not suffer from what the snapshot cannot do.
            run.Fail(bug.Message);
        }
        form.End();
        _database = database;
        _package.Keys++;
        if (_package.Length >= PackageBytes) Flush();
    }

    bool ICaptureSink.TakePart(int database, in Entry entry, ref CapturePlace place)
    {
        if (run.IsOver) return true;
        IKeyForm form = run.Form;
        var package = new Package { IsPart = true };
        form.Begin(package);
        try
        {
            if (!place.Begun) form.Select(database);
            package.IsLastPart = form.Part(entry, ref place);
        }
        catch (Exception bug)
        {
            run.Fail(bug.Message);
            package.IsLastPart = true;
        }
        form.End();
        if (package.IsLastPart) package.Keys = 1;
        bool done = package.IsLastPart;
        run.Send(package);
        return done;
    }
}
