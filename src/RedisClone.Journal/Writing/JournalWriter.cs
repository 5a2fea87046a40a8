using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Writing;

/// <summary>
/// The steps of writing: a group, a flush, a switch to the next increment, a new base. No threads and no clock; whoever
/// calls holds the writer's role, so one step runs at a time. I/O errors leave as exceptions, and the caller makes them
/// final with <see cref="Fail"/>.
/// </summary>
internal sealed class JournalWriter(MergeBuffer buffer, WriterTuning tuning)
{
    private JournalDirectory? _directory;
    private IncrementFile? _file;
    private long _switchedAt = -1;
    private long _firstIncrement;
    private JournalFileReport? _last;           // while the first write is awaited: the file that the stream ended with
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

    /// <summary>Up to here the stream has been handed to the system.</summary>
    public long WrittenLsn => Volatile.Read(ref _written);

    /// <summary>Up to here the stream survives a power loss.</summary>
    public long DurableLsn => Volatile.Read(ref _durable);

    /// <summary>Something is written that is not flushed.</summary>
    public bool HasUnflushed => _written != _flushed;

    /// <summary>Something is durable that no header in the file says so of.</summary>
    public bool HasUnmarked => _file is not null && State == JournalState.Running && _file.DurableMark < _flushed;

    /// <summary>The switch at this position has been carried out: the next increment is open and in the manifest.</summary>
    public bool HasSwitched(long lsn) => _switchedAt == lsn;

    public long IncrementSize => _file?.Offset ?? (_last is { IsOurs: false } ? _last.Kept : 0);

    /// <summary>The file that these bytes are in, empty while there is none.</summary>
    public string IncrementName { get; private set; } = "";

    /// <summary>Starts on what was read: cleans the directory and opens a new increment, at once or with the first write.</summary>
    public void Start(JournalDirectory directory, JournalReport report)
    {
        Manifest before = directory.Manifest;
        Manifest kept = JournalStart.Prepare(directory, report);
        _directory = directory;
        long lsn = buffer.Resume(report.Lsn);
        _last = JournalStart.MayWait(directory, report, kept, tuning) ? report.Files[^1] : null;
        IncrementName = _last is { IsOurs: false } ? _last.Name : "";
        if (_last is null)
        {
            OpenIncrement(lsn, kept);
            JournalStart.DeleteDropped(directory, before);
        }
        Settle(lsn);
        State = JournalState.Running;
    }

    /// <summary>
    /// Begins anew after a failure, or where there was no journal: from the position returned on, the stream goes to a file
    /// that the manifest will not name before <see cref="InstallBase"/>; until then nothing becomes durable.
    /// </summary>
    public long BeginRebuild(JournalDirectory directory)
    {
        _directory = directory;
        long lsn = buffer.Resume(0);
        Volatile.Write(ref _written, lsn);
        _flushed = _switchedAt = lsn;
        _beforeRebuild = State;
        State = JournalState.Rebuilding;
        return lsn;
    }

    /// <summary>Writes the oldest pending group. False when there is none, or none that may be written now.</summary>
    public bool WriteNext(bool fillAhead, bool maySwitch = true)
    {
        if (_file is null && State == JournalState.Rebuilding) OpenTemporaryIncrement();
        if (!buffer.TryTake(maySwitch, out PendingGroup group)) return false;
        if (_file is null) GoOn(group.Lsn);
        if (group.Length > 0) _file!.Write(group, _flushed, fillAhead);
        buffer.Return(group);
        Volatile.Write(ref _written, group.End);
        if (group.EndsIncrement) FinishIncrement(group.End);
        return true;
    }

    /// <summary>Flushes what is written.</summary>
    public void Flush()
    {
        if (_file is null || _written == _flushed) return;
        long written = _written;
        _file.Flush();
        Flushed(written);
    }

    /// <summary>For a flush beside the writing: the file, and the position that a flush of it covers.</summary>
    public IncrementFile? FileToFlush(out long covers)
    {
        covers = _written;
        return _file;
    }

    public void Flushed(long lsn)
    {
        // A flush beside the writing may end after a later one that a switch made.
        if (lsn <= _flushed) return;
        _flushed = lsn;
        if (State == JournalState.Running) Volatile.Write(ref _durable, lsn);
    }

    public void WriteMark()
    {
        if (HasUnmarked) _file!.WriteMark(_written, _flushed);
    }

    /// <summary>
    /// Makes the finished file <see cref="JournalNames.TemporaryBase"/>, which stands for the stream up to <paramref
    /// name="lsn"/>, the base, and what it supersedes history.
    /// </summary>
    public void InstallBase(long lsn, bool rdb)
    {
        JournalDirectory directory = _directory!;
        (IDisk disk, JournalNames names) = (directory.Disk, directory.Names);
        while (_switchedAt != lsn && WriteNext(fillAhead: false)) { }
        long sequence = directory.TakeBaseSequence();
        var @base = new ManifestFile(names.Base(sequence, rdb), sequence, ManifestFileKind.Base);
        using (IDiskFile file = disk.Open(names.PathOf(names.TemporaryBase), DiskOpen.Existing)) file.Flush();
        if (State == JournalState.Rebuilding)
        {
            if (_file is null) OpenTemporaryIncrement();
            Flush();
            long first = directory.TakeIncrementSequence();
            var increment = new ManifestFile(names.Increment(first), first, ManifestFileKind.Increment);
            Manifest manifest = directory.Manifest.WithBase(@base, first).WithIncrement(increment);
            directory.Announce(manifest);
            disk.Rename(names.PathOf(names.TemporaryBase), names.PathOf(@base.Name));
            disk.Rename(names.PathOf(names.TemporaryIncrement), names.PathOf(increment.Name));
            directory.Publish(manifest);
            IncrementName = increment.Name;
        }
        else
        {
            disk.Rename(names.PathOf(names.TemporaryBase), names.PathOf(@base.Name));
            directory.Publish(directory.Manifest.WithBase(@base, _firstIncrement));
        }
        State = JournalState.Running;
        Volatile.Write(ref _durable, _flushed);
    }

    /// <summary>The base did not come about. The increments stay; a rebuild has failed with it.</summary>
    public void AbandonBase()
    {
        if (State == JournalState.Rebuilding) Close(_beforeRebuild);
    }

    /// <summary>What no loader needs any more; nothing while a backup is still copying.</summary>
    public IReadOnlyList<ManifestFile> History => Backups == 0 && _directory is not null ? _directory.Manifest.History : [];

    /// <summary>Deletes history; needs no role, since nobody else looks at these files.</summary>
    public void DeleteFiles(IReadOnlyList<ManifestFile> history)
    {
        foreach (ManifestFile file in history) _directory!.Disk.Delete(_directory.Names.PathOf(file.Name));
    }

    /// <summary>Strikes deleted files from the manifest.</summary>
    public void Forget(IReadOnlyList<ManifestFile> history) => _directory!.Publish(_directory.Manifest.WithoutHistory(history));

    /// <summary>How many backups are copying files that must stay.</summary>
    public int Backups { get; set; }

    /// <summary>What a backup copies: the files of the manifest, the last of them up to the length returned.</summary>
    public (JournalDirectory Directory, Manifest Manifest, long LastLength) Extent =>
        (_directory!, _directory!.Manifest, _file?.Offset ?? _last!.Kept);

    /// <summary>Ends for good, with everything written, flushed and marked.</summary>
    public void Stop()
    {
        if (State == JournalState.Running)
        {
            while (WriteNext(fillAhead: false)) { }
            Flush();
            _file?.Finish();
            if (HasUnmarked)
            {
                _file!.WriteMark(_written, _flushed);
                _file.Flush();
            }
        }
        Close(JournalState.Off);
    }

    /// <summary>An error is final: what was not durable by now never will be by this journal.</summary>
    public void Fail() => Close(JournalState.Failed);

    private void Close(JournalState state)
    {
        State = state;
        buffer.Discard();
        IncrementFile? file = _file;
        _file = null;
        _last = null;
        file?.Dispose();
    }

    /// <summary>The first write: in a file that Redis wrote, which becomes one of ours, or behind ours in a new one.</summary>
    private void GoOn(long lsn)
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
                if (read == 0) throw new IOException($"{last.Name} has become shorter");
                at += read;
            }
        }
        _file = IncrementFile.Create(disk, names.PathOf(names.TemporaryIncrement), lsn - commands.Length, tuning);
        _file.Adopt(commands, lsn);
        disk.Rename(names.PathOf(names.TemporaryIncrement), names.PathOf(last.Name));
        disk.FlushDirectory(names.Directory);
    }

    private void FinishIncrement(long lsn)
    {
        IncrementFile? old = _file;
        old?.Finish();
        Flushed(lsn);
        _firstIncrement = OpenIncrement(lsn, _directory!.Manifest);
        _switchedAt = lsn;
        old?.Dispose();
    }

    private long OpenIncrement(long lsn, Manifest others)
    {
        JournalDirectory directory = _directory!;
        long sequence = directory.TakeIncrementSequence();
        var increment = new ManifestFile(directory.Names.Increment(sequence), sequence, ManifestFileKind.Increment);
        Manifest manifest = others.WithIncrement(increment);
        directory.Announce(manifest);
        var file = IncrementFile.Create(directory.Disk, directory.Names.PathOf(increment.Name), lsn, tuning);
        try
        {
            directory.Publish(manifest);
        }
        catch
        {
            file.Dispose();
            throw;
        }
        (_file, IncrementName) = (file, increment.Name);
        return sequence;
    }

    private void OpenTemporaryIncrement()
    {
        JournalDirectory directory = _directory!;
        _file = IncrementFile.Create(directory.Disk, directory.Names.PathOf(directory.Names.TemporaryIncrement), _switchedAt, tuning);
    }

    private void Settle(long lsn)
    {
        Volatile.Write(ref _written, lsn);
        _flushed = lsn;
        Volatile.Write(ref _durable, lsn);
    }
}
