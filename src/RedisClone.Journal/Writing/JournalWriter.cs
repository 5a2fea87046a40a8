using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Writing;

/// <summary>
/// The steps of writing: a group, a flush, a switch to the next increment, a new base. The class has no threads and no
/// clock. The caller holds the writer role, so only one step runs at a time. I/O errors are thrown, and the caller ends
/// the journal with <see cref="Fail"/>.
/// </summary>
internal sealed class JournalWriter(MergeBuffer buffer, WriterTuning tuning)
{
    private JournalDirectory? _directory;
    private IncrementFile? _file;
    private long _switchedAt = -1;
    private long _firstIncrement;
    private JournalFileReport? _last;           // before the first write: the last file of the previous run
    private PendingGroup? _unwritten;           // taken from the buffer, and not written yet
    private volatile bool _awaitsSpace;
    private JournalState _beforeRebuild;
    private long _written;
    private long _flushed;
    private long _durable;
    private int _state;

    public JournalState State
    {
        get => (JournalState)Volatile.Read(ref _state);
        private set => Volatile.Write(ref _state, (int)value);
    }

    /// <summary>The position up to which the stream was passed to the operating system.</summary>
    public long WrittenLsn => Volatile.Read(ref _written);

    /// <summary>The position up to which the stream survives a power loss.</summary>
    public long DurableLsn => Volatile.Read(ref _durable);

    /// <summary>True if written bytes are not yet flushed.</summary>
    public bool HasUnflushed => _written != _flushed;

    /// <summary>True if the durable position exceeds the one that the headers of the file state.</summary>
    public bool HasUnmarked => _file is not null && State == JournalState.Running && _file.DurableMark < _flushed;

    /// <summary>
    /// True if the switch at this position is complete: the next increment is open and in the manifest. It is not if the next increment could
    /// not be created.
    /// </summary>
    public bool HasSwitched(long lsn) => _switchedAt == lsn;

    public long IncrementSize => _file?.Offset ?? (_last is { IsOurs: false } ? _last.Kept : 0);

    /// <summary>The file that <see cref="IncrementSize"/> refers to. Empty if there is none.</summary>
    public string IncrementName { get; private set; } = "";

    /// <summary>Starts the journal after recovery.</summary>
    public void Start(JournalDirectory directory, JournalReport report) => Begin(report, TakeOver(directory, report));

    /// <summary>
    /// Takes the first step of a start: makes what recovery has read durable and continues the stream after it. Returns the
    /// manifest without the files that do not count.
    /// </summary>
    public Manifest TakeOver(JournalDirectory directory, JournalReport report)
    {
        Manifest kept = JournalStart.Prepare(directory, report);
        _directory = directory;
        Settle(buffer.Resume(report.Lsn));
        return kept;
    }

    /// <summary>
    /// Takes the second step of a start: opens a new increment, at once or with the first write. If it fails, the files
    /// contain the same data as before.
    /// </summary>
    public void Begin(JournalReport report, Manifest kept)
    {
        JournalDirectory directory = _directory!;
        Manifest before = directory.Manifest;
        _last = JournalStart.MayWait(directory, report, kept, tuning) ? report.Files[^1] : null;
        IncrementName = _last is { IsOurs: false } ? _last.Name : "";
        if (_last is null)
        {
            OpenIncrement(_written, kept);
            JournalStart.DeleteDropped(directory, before);
        }
        State = JournalState.Running;
    }

    /// <summary>
    /// Restarts the journal after a failure or where there was none. From the returned position on, the stream goes to
    /// a file that the manifest names only after <see cref="InstallBase"/>. Nothing becomes durable before that.
    /// </summary>
    /// <param name="directory">The files.</param>
    /// <param name="recovers">Whether the journal has failed if the rebuild fails, although there was none.</param>
    public long BeginRebuild(JournalDirectory directory, bool recovers = false)
    {
        if (AwaitsSpace) Close(JournalState.Failed);
        _directory = directory;
        long lsn = buffer.Resume(0);
        Volatile.Write(ref _written, lsn);
        _flushed = _switchedAt = lsn;
        _beforeRebuild = recovers ? JournalState.Failed : State;
        State = JournalState.Rebuilding;
        return lsn;
    }

    /// <summary>Whether a rebuild after a failure runs. Nothing is durable before it is installed.</summary>
    public bool IsRecovering => State == JournalState.Rebuilding && _beforeRebuild == JournalState.Failed;

    /// <summary>
    /// Writes the oldest pending group. Returns false if there is none, or none that may be written now.
    /// </summary>
    public bool WriteNext(bool fillAhead, bool maySwitch = true)
    {
        if (_file is null && State == JournalState.Rebuilding) OpenTemporaryIncrement();
        if (_unwritten is not { } group)
        {
            if (!buffer.TryTake(maySwitch, out group)) return false;
            _unwritten = group;
        }
        if (_file is null) ContinueStream(group.Lsn);
        if (group.Length > 0) _file!.Write(group, _flushed, fillAhead);
        _unwritten = null;
        buffer.Return(group);
        Volatile.Write(ref _written, group.End);
        if (group.EndsIncrement) FinishIncrement(group.End);
        return true;
    }

    public void Flush()
    {
        if (_file is null || _written == _flushed) return;
        long written = _written;
        _file.Flush();
        Flushed(written);
    }

    /// <summary>
    /// Returns the file for a flush that runs concurrently with writes, and the position that such a flush covers.
    /// </summary>
    public IncrementFile? FileToFlush(out long covers)
    {
        covers = _written;
        return _file;
    }

    public void Flushed(long lsn)
    {
        // A flush that runs concurrently with writes may end after a later flush that a switch made.
        if (lsn <= _flushed) return;
        _flushed = lsn;
        if (State == JournalState.Running) Volatile.Write(ref _durable, lsn);
    }

    /// <summary>Writes a mark if one is due. Without space there is none: everything is durable, and a later mark says so.</summary>
    public void WriteMark()
    {
        if (!HasUnmarked) return;
        try
        {
            _file!.WriteMark(_written, _flushed);
        }
        catch (Exception failure) when (DiskFailure.IsLackOfSpace(failure))
        {
            _file!.DropUnfinished();
        }
    }

    /// <summary>
    /// True if writes only append to a file that the manifest names, so that another thread may change the manifest
    /// meanwhile.
    /// </summary>
    public bool OnlyAppends => State == JournalState.Running && _file is not null;

    /// <summary>
    /// Turns the complete file <see cref="JournalNames.TemporaryBase"/>, which represents the stream up to
    /// <paramref name="lsn"/>, into the base. The superseded files become history. The writer role is not needed if
    /// <see cref="OnlyAppends"/> is true and the increment has switched at this position.
    /// </summary>
    public void InstallBase(long lsn, bool rdb)
    {
        JournalDirectory directory = _directory!;
        (IDisk disk, JournalNames names) = (directory.Disk, directory.Names);
        bool isRebuild = State == JournalState.Rebuilding;
        while (_switchedAt != lsn && WriteNext(fillAhead: false)) { }
        long sequence = directory.TakeBaseSequence();
        var @base = new ManifestFile(names.Base(sequence, rdb), sequence, ManifestFileKind.Base, HasHeader: !rdb);
        using (IDiskFile file = disk.Open(names.PathOf(names.TemporaryBase), DiskOpen.Existing)) file.Flush();
        if (isRebuild)
        {
            if (_file is null) OpenTemporaryIncrement();
            Flush();
            long first = directory.TakeIncrementSequence();
            var increment = new ManifestFile(names.Increment(first), first, ManifestFileKind.Increment, HasHeader: true);
            Manifest manifest = directory.Manifest.WithBase(@base, first).WithIncrement(increment);
            directory.Announce(manifest);
            Publish(manifest, @base, increment);
            IncrementName = increment.Name;
            State = JournalState.Running;
            Volatile.Write(ref _durable, _flushed);
        }
        else
        {
            Publish(directory.Manifest.WithBase(@base, _firstIncrement), @base, increment: null);
        }
    }

    /// <summary>Gives the temporary files their names and publishes the manifest. Each failed attempt would leave a base otherwise.</summary>
    private void Publish(Manifest manifest, ManifestFile @base, ManifestFile? increment)
    {
        JournalDirectory directory = _directory!;
        (IDisk disk, JournalNames names) = (directory.Disk, directory.Names);
        disk.Rename(names.PathOf(names.TemporaryBase), names.PathOf(@base.Name));
        try
        {
            if (increment is not null) disk.Rename(names.PathOf(names.TemporaryIncrement), names.PathOf(increment.Name));
            directory.Publish(manifest);
        }
        catch
        {
            directory.DeleteUnpublished(@base);
            if (increment is not null) directory.DeleteUnpublished(increment);
            throw;
        }
    }

    /// <summary>Deletes a complete base that could not be installed. The journal may need its space.</summary>
    public void DeleteBase()
    {
        if (_directory is { } directory) directory.Disk.Delete(directory.Names.PathOf(directory.Names.TemporaryBase));
    }

    /// <summary>
    /// Abandons a base that could not be completed. The increments remain. A rebuild in progress has failed.
    /// </summary>
    public void AbandonBase()
    {
        if (State == JournalState.Rebuilding) Close(_beforeRebuild);
    }

    /// <summary>The files that no loader needs any more. Empty while a backup is in progress.</summary>
    public IReadOnlyList<ManifestFile> History => Backups == 0 && _directory is not null ? _directory.Manifest.History : [];

    /// <summary>Deletes history files. The writer role is not needed, because no other code uses these files.</summary>
    public void DeleteFiles(IReadOnlyList<ManifestFile> history)
    {
        foreach (ManifestFile file in history) _directory!.Disk.Delete(_directory.Names.PathOf(file.Name));
    }

    /// <summary>
    /// Removes deleted files from the manifest. The writer role is not needed if <see cref="OnlyAppends"/> is true.
    /// </summary>
    public void Forget(IReadOnlyList<ManifestFile> history) => _directory!.Publish(_directory.Manifest.WithoutHistory(history));

    /// <summary>The number of backups in progress, during which no history may be deleted.</summary>
    public int Backups { get; set; }

    /// <summary>
    /// The extent of a backup: the files of the manifest, the last of them up to the returned length.
    /// </summary>
    public (JournalDirectory Directory, Manifest Manifest, long LastLength) Extent =>
        (_directory!, _directory!.Manifest, _file?.Offset ?? _last!.Kept);

    /// <summary>Ends the journal, with everything written, flushed and marked.</summary>
    public void Stop()
    {
        if (State == JournalState.Running)
        {
            while (WriteNext(fillAhead: false)) { }
            Flush();
            _file?.Finish();
            if (HasUnmarked)
            {
                WriteMark();
                _file!.Flush();
            }
        }
        Close(JournalState.Off);
    }

    /// <summary>
    /// Ends the journal after an error. Positions that are not durable at this point never become durable in this
    /// journal.
    /// </summary>
    public void Fail() => Close(JournalState.Failed);

    /// <summary>
    /// Whether the journal has failed because a write found no space. What was not written is kept, and <see cref="Resume"/> writes it.
    /// </summary>
    public bool AwaitsSpace => _awaitsSpace;

    /// <summary>
    /// Ends the journal after a write that found no space, until <see cref="Resume"/> succeeds. Returns false if nothing can continue it: the
    /// error came from another step.
    /// </summary>
    public bool TryAwaitSpace()
    {
        if (State != JournalState.Running && !_awaitsSpace || _unwritten is null) return false;
        // The first write of a run opens a file, and an attempt that fails leaves nothing behind. An adoption of Redis's file does.
        if (_last is { } last ? !last.IsOurs : _file is null) return false;
        _file?.DropUnfinished();
        _awaitsSpace = true;
        State = JournalState.Failed;
        return true;
    }

    /// <summary>Continues after <see cref="TryAwaitSpace"/>: writes and flushes everything that was kept.</summary>
    public void Resume()
    {
        while (WriteNext(fillAhead: false)) { }
        Flush();
        State = JournalState.Running;
        _awaitsSpace = false;
        Volatile.Write(ref _durable, _flushed);
    }

    private void Close(JournalState state)
    {
        State = state;
        _awaitsSpace = false;
        _unwritten = null;
        buffer.Discard();
        IncrementFile? file = _file;
        _file = null;
        _last = null;
        file?.Dispose();
    }

    /// <summary>
    /// Prepares the first write. A last file of Redis is rewritten as a file of this server. After a last file of this
    /// server, a new increment is opened.
    /// </summary>
    private void ContinueStream(long lsn)
    {
        JournalFileReport last = _last!;
        if (last.IsOurs) OpenIncrement(lsn, _directory!.Manifest);
        else Adopt(last, lsn);
        _last = null;
    }

    private void Adopt(JournalFileReport last, long lsn)
    {
        (IDisk disk, JournalNames names) = (_directory!.Disk, _directory.Names);
        byte[] commands = new byte[last.Kept];
        using (IDiskFile old = disk.Open(names.PathOf(last.Name), DiskOpen.Read))
        {
            for (int at = 0; at < commands.Length;)
            {
                int read = old.Read(at, commands.AsSpan(at));
                if (read == 0) throw new IOException($"{last.Name} became shorter while it was read");
                at += read;
            }
        }
        _file = IncrementFile.Create(disk, names.PathOf(names.TemporaryIncrement), lsn - commands.Length, tuning);
        _file.Adopt(commands, lsn);
        disk.Rename(names.PathOf(names.TemporaryIncrement), names.PathOf(last.Name));
        _directory.Publish(_directory.Manifest.WithHeader(last.Name));
    }

    private void FinishIncrement(long lsn)
    {
        IncrementFile? old = _file;
        old?.Finish();
        Flushed(lsn);
        try
        {
            _firstIncrement = OpenIncrement(lsn, _directory!.Manifest);
        }
        catch (Exception failure) when (DiskFailure.Is(failure) && old is not null && !_directory!.MayNameUnpublished)
        {
            // The current increment goes on. The base that was to be installed at this position cannot be.
            return;
        }
        _switchedAt = lsn;
        old?.Dispose();
    }

    private long OpenIncrement(long lsn, Manifest others)
    {
        JournalDirectory directory = _directory!;
        (IDisk disk, JournalNames names) = (directory.Disk, directory.Names);
        long sequence = directory.TakeIncrementSequence();
        var increment = new ManifestFile(names.Increment(sequence), sequence, ManifestFileKind.Increment, HasHeader: true);
        Manifest manifest = others.WithIncrement(increment);

        // The first manifest is announced before the file receives its name, and the header is durable before that.
        bool isFirst = directory.Manifest.IsEmpty;
        string path = names.PathOf(increment.Name), created = isFirst ? names.PathOf(names.TemporaryIncrement) : path;
        IncrementFile? file = null;
        try
        {
            file = IncrementFile.Create(disk, created, lsn, tuning);
            if (isFirst)
            {
                directory.Announce(manifest);
                disk.Rename(created, path);
            }
            directory.Publish(manifest);
        }
        catch
        {
            file?.Dispose();
            directory.DeleteUnpublished(increment);
            throw;
        }
        (_file, IncrementName) = (file, increment.Name);
        return sequence;
    }

    private void OpenTemporaryIncrement()
    {
        JournalDirectory directory = _directory!;
        _file = IncrementFile.Create(
            directory.Disk, directory.Names.PathOf(directory.Names.TemporaryIncrement), _switchedAt, tuning);
    }

    private void Settle(long lsn)
    {
        Volatile.Write(ref _written, lsn);
        _flushed = lsn;
        Volatile.Write(ref _durable, lsn);
    }
}
