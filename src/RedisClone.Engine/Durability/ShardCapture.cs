using RedisClone.Storage;

namespace RedisClone.Engine.Durability;

/// <summary>Writes the captured records of one shard into packages, on whichever thread holds the shard.</summary>
internal sealed class ShardCapture(SnapshotRun run) : ICaptureSink
{
    private const int PackageBytes = 32 * 1024;

    private Package? _package;
    private int _database;

    /// <summary>Sends the current package.</summary>
    public void Flush()
    {
        if (_package is null) return;
        run.Send(_package);
        _package = null;
    }

    void ICaptureSink.Take(int database, in Entry entry)
    {
        if (run.IsOver || !run.Has(entry)) return;
        try
        {
            IKeyForm form = run.Form;
            bool isNew = _package is null;
            form.Begin(_package ??= new Package());
            if (isNew || database != _database) form.Select(database);
            form.Key(entry);
            form.End();
            _database = database;
            _package.Keys++;
            if (_package.Length >= PackageBytes) Flush();
        }
        catch (Exception bug)
        {
            // This may run within a client's command, which must not fail because of the snapshot.
            run.Fail(bug.Message);
        }
    }

    bool ICaptureSink.TakePart(int database, in Entry entry, ref CapturePlace place)
    {
        if (run.IsOver || !run.Has(entry)) return true;
        try
        {
            IKeyForm form = run.Form;
            var package = new Package { IsPart = true };
            form.Begin(package);
            if (!place.Begun) form.Select(database);
            // Once sent, the package belongs to the writing thread.
            bool done = package.IsLastPart = form.Part(entry, ref place);
            form.End();
            if (done) package.Keys = 1;
            run.Send(package);
            return done;
        }
        catch (Exception bug)
        {
            run.Fail(bug.Message);
            return true;
        }
    }
}
