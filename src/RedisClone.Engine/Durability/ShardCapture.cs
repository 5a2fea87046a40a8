using RedisClone.Journal.Rdb;
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
            run.Fail(bug);
        }
    }

    bool ICaptureSink.TakePart(int database, in Entry entry, ref CapturePlace place)
    {
        if (run.IsOver || !run.Has(entry)) return true;
        try
        {
            IKeyForm form = run.Form;
            var packages = new PartPackages(run);
            form.Begin(packages);
            if (!place.Begun) form.Select(database);
            bool done = form.Part(entry, ref place);
            form.End();
            packages.End(done);
            return done;
        }
        catch (Exception bug)
        {
            run.Fail(bug);
            return true;
        }
    }

    /// <summary>
    /// The packages of a part. A part is longer than one package if it has a long element, which need not wait in memory as a whole: a small
    /// heap may have no room for a copy of it.
    /// </summary>
    private sealed class PartPackages(SnapshotRun run) : IRdbTarget
    {
        private Package _current = new() { IsPart = true };

        public void Write(ReadOnlySpan<byte> bytes)
        {
            if (_current.Length >= RdbForm.PartBytes)
            {
                Package full = _current;
                _current = new Package { IsPart = true };
                run.Send(full);
                run.WriteEarly();
            }
            _current.Write(bytes);
        }

        public void End(bool isLast)
        {
            // Once sent, the package belongs to the writing thread.
            (_current.IsLastPart, _current.Keys) = (isLast, isLast ? 1 : 0);
            run.Send(_current);
        }
    }
}
