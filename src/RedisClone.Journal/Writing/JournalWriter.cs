using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Writing;

/// <summary>
/// The steps of writing: a group, a flush, a switch to the next increment, a new base. No threads and no clock; whoever calls holds
/// the writer's role, so one step runs at a time. I/O errors leave as exceptions, and the caller makes them final with <see cref="Fail"/>.
/// </summary>
internal sealed class JournalWriter(MergeBuffer buffer, Random? saltSource = null)
{
    private JournalDirectory? _directory;
    private IncrementFile? _file;
    private Rotation? _rotation;
    private long _written;
    private long _flushed;
    private long _durable;
    private int _state;

    /// <summary>A base that is being made: where in the stream it stands, and the first increment after it (0 until it exists).</summary>
    private sealed record Rotation(long Lsn, long FirstIncrement);

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

    public bool IsRotating => _rotation is not null;

    public long CurrentSize => _file?.Offset ?? 0;

    /// <summary>Starts on what was read: cleans the directory and opens a new increment.</summary>
    public void Start(JournalDirectory directory, JournalReport report)
    {
        JournalStart.Prepare(directory, report);
        _directory = directory;
        var lsn = buffer.Resume(report.Lsn);
        OpenIncrement(lsn);
        Settle(lsn);
        State = JournalState.Running;
    }

    /// <summary>
    /// Begins anew after a failure, or where there was no journal: from the position returned on, the stream goes to a file that the
    /// manifest will not name before <see cref="InstallBase"/>; until then nothing becomes durable.
    /// </summary>
    public long BeginRebuild(JournalDirectory directory)
    {
        _directory = directory;
        CloseFile();
        var lsn = buffer.Resume(0);
        Volatile.Write(ref _written, lsn);
        _flushed = lsn;
        _rotation = new(lsn, 0);
        State = JournalState.Rebuilding;
        return lsn;
    }

    /// <summary>Ends the increment at the position returned, which is where the base to be made must stand.</summary>
    public long Switch()
    {
        var lsn = buffer.Switch();
        _rotation = new(lsn, 0);
        return lsn;
    }

    /// <summary>Writes the oldest pending group. False when there is none.</summary>
    public bool WriteNext(bool fillAhead)
    {
        if (_file is null) OpenTemporaryIncrement();
        if (!buffer.TryTake(out var group)) return false;
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
        var written = _written;
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
        _flushed = lsn;
        if (State == JournalState.Running) Volatile.Write(ref _durable, lsn);
    }

    public void WriteMark()
    {
        if (HasUnmarked) _file!.WriteMark(_written, _flushed);
    }

    /// <summary>
    /// Makes the finished file <see cref="JournalNames.TemporaryBase"/> the base, and what it supersedes history. On an error the rotation
    /// is over and the journal is what it was.
    /// </summary>
    public void InstallBase(bool rdb)
    {
        var directory = _directory!;
        var (disk, names) = (directory.Disk, directory.Names);
        while (_rotation is { FirstIncrement: 0 } && State == JournalState.Running) WriteNext(fillAhead: false);
        var sequence = directory.TakeBaseSequence();
        var @base = new ManifestFile(names.Base(sequence, rdb), sequence, ManifestFileKind.Base);
        using (var file = disk.Open(names.PathOf(names.TemporaryBase), DiskOpen.Existing)) file.Flush();
        disk.Rename(names.PathOf(names.TemporaryBase), names.PathOf(@base.Name));
        if (State == JournalState.Rebuilding)
        {
            if (_file is null) OpenTemporaryIncrement();
            Flush();
            var first = directory.TakeIncrementSequence();
            var increment = new ManifestFile(names.Increment(first), first, ManifestFileKind.Increment);
            disk.Rename(names.PathOf(names.TemporaryIncrement), names.PathOf(increment.Name));
            directory.Publish(directory.Manifest.WithBase(@base, first).WithIncrement(increment));
        }
        else
        {
            directory.Publish(directory.Manifest.WithBase(@base, _rotation!.FirstIncrement));
        }
        _rotation = null;
        State = JournalState.Running;
        Volatile.Write(ref _durable, _flushed);
    }

    /// <summary>The base did not come about. The increments stay; a rebuild has failed with it.</summary>
    public void AbandonBase()
    {
        _rotation = null;
        if (State == JournalState.Rebuilding) Fail();
    }

    public void DeleteHistory() => _directory?.DeleteHistory();

    /// <summary>Ends for good, with everything written, flushed and marked.</summary>
    public void Stop()
    {
        if (State == JournalState.Running)
        {
            while (WriteNext(fillAhead: false)) { }
            Flush();
            _file!.Finish();
            if (HasUnmarked)
            {
                _file.WriteMark(_written, _flushed);
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
        _rotation = null;
        buffer.Discard();
        CloseFile();
    }

    private void CloseFile()
    {
        _file?.Dispose();
        _file = null;
    }

    private void FinishIncrement(long lsn)
    {
        var old = _file!;
        old.Finish();
        Flushed(lsn);
        _rotation = _rotation! with { FirstIncrement = OpenIncrement(lsn) };
        old.Dispose();
    }

    private long OpenIncrement(long lsn)
    {
        var directory = _directory!;
        var sequence = directory.TakeIncrementSequence();
        var increment = new ManifestFile(directory.Names.Increment(sequence), sequence, ManifestFileKind.Increment);
        var file = IncrementFile.Create(directory.Disk, directory.Names.PathOf(increment.Name), lsn, saltSource);
        try
        {
            directory.Publish(directory.Manifest.WithIncrement(increment));
        }
        catch
        {
            file.Dispose();
            throw;
        }
        _file = file;
        return sequence;
    }

    private void OpenTemporaryIncrement()
    {
        var directory = _directory!;
        _file = IncrementFile.Create(directory.Disk, directory.Names.PathOf(directory.Names.TemporaryIncrement), _rotation!.Lsn, saltSource);
    }

    private void Settle(long lsn)
    {
        Volatile.Write(ref _written, lsn);
        _flushed = lsn;
        Volatile.Write(ref _durable, lsn);
    }
}
