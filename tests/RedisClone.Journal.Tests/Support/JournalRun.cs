using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal.Tests.Support;

/// <summary>
/// A minimal single-threaded server. It appends units, writes groups, flushes, rewrites, fails and rebuilds in a random
/// order, and records the acknowledged units.
/// </summary>
internal sealed class JournalRun
{
    public static readonly JournalNames Names = new("/data");

    private readonly SimulatedDisk _disk;
    private readonly Random _random;
    private readonly MergeBuffer _buffer;
    private readonly JournalWriter _writer;
    private JournalDirectory? _directory;
    private long _rotation = -1;
    private int _number;
    private long _acknowledged;
    private bool _isInstalling;

    public JournalRun(SimulatedDisk disk, Random random, List<Unit> units)
    {
        _disk = disk;
        _random = random;
        Units = units;
        _number = units.Count;
        var tuning = new WriterTuning
        {
            SegmentSize = 1024,
            MaxGroup = 6000,
            FirstFill = 2048,
            LargestFill = 8192,
            LargestGroupToFill = 2048,
            Salts = new(random.Next()),
        };
        _buffer = new(tuning);
        _writer = new(_buffer, tuning);
    }

    /// <summary>All units that ever took effect, in the global order.</summary>
    public List<Unit> Units { get; }

    /// <summary>The highest position that was reported as durable.</summary>
    public long Acknowledged => Math.Max(_acknowledged, _writer.DurableLsn);

    public JournalState State => _writer.State;

    /// <summary>Reads the journal without changing it.</summary>
    public static JournalReport Read(IDisk disk, Collector collector, ReadOptions? options = null)
    {
        if (!JournalDirectory.TryReadManifest(disk, Names, out var manifest, out var error))
            return new() { Outcome = JournalOutcome.Refused, Reason = error };
        return new JournalReader(disk, Names, manifest, options ?? new()).Read(collector);
    }

    /// <summary>Starts on the content of the disk. Returns false if the disk failed.</summary>
    public bool Start(JournalReport report)
    {
        try
        {
            _directory = JournalDirectory.TryOpen(_disk, Names, out _);
            if (_directory is null) return false;
            _writer.Start(_directory, report);
            return true;
        }
        catch (IOException)
        {
            _writer.Fail();
            return false;
        }
    }

    /// <summary>Runs a number of steps, or until the power loss. Later steps have no observable effect.</summary>
    public void Run(int steps, bool always)
    {
        for (var i = 0; i < steps && !_disk.PowerIsOff; i++)
        {
            try
            {
                if (_writer.AwaitsSpace && _random.Next(8) != 0) WaitForSpace();
                else if (_writer.State is JournalState.Failed or JournalState.Off) Rebuild();
                else Step(always);
            }
            catch (IOException)
            {
                if (_rotation >= 0 && _writer.State == JournalState.Running && _isInstalling)
                {
                    // Like the engine: an error during the installation of a base ends only the rewrite.
                    _writer.AbandonBase();
                }
                else if (_random.Next(4) == 0 || !TryAwaitSpace())
                {
                    _writer.Fail();
                }
                _rotation = -1;
                _isInstalling = false;
            }
            _acknowledged = Acknowledged;
        }
    }

    public void Stop()
    {
        try
        {
            _writer.Stop();
        }
        catch (IOException)
        {
            _writer.Fail();
        }
        _directory?.Dispose();
    }

    private void Step(bool always)
    {
        switch (_random.Next(16))
        {
            case 0 when _rotation < 0 && _writer.State == JournalState.Running:
                _rotation = _buffer.Switch();
                break;
            case 1 when _rotation >= 0:
                while (!_writer.HasSwitched(_rotation) && _writer.WriteNext(always)) { }
                if (!_writer.HasSwitched(_rotation))
                {
                    _rotation = -1;
                    break;
                }
                _isInstalling = true;
                JournalSetup.WriteBase(_disk, _rotation);
                _writer.InstallBase(_rotation, rdb: true);
                _isInstalling = false;
                _rotation = -1;
                var history = _writer.History;
                _writer.DeleteFiles(history);
                _writer.Forget(history);
                break;
            case 2 when _rotation >= 0 && _random.Next(3) == 0:
                _rotation = -1;
                _writer.AbandonBase();
                break;
            case 3 when !_buffer.HasPending:
                _writer.WriteMark();
                break;
            case 4 when !always:
                _writer.Flush();
                break;
            case < 10:
                for (var i = _random.Next(1, 5); i > 0; i--) Append();
                break;
            default:
                while (_writer.WriteNext(fillAhead: always)) { }
                if (always) _writer.Flush();
                break;
        }
    }

    private void Append()
    {
        var database = _random.Next(4) == 0 ? 1 : 0;
        var bytes = Support.Units.Make(_random, _number++);
        Units.Add(new(_buffer.Append(database, bytes), database, bytes));
    }

    /// <summary>Like the engine after an error of a write that may succeed later: effects go on, and the write is repeated.</summary>
    private void WaitForSpace()
    {
        if (_random.Next(2) == 0) Append();
        else _writer.Resume();
    }

    private bool TryAwaitSpace()
    {
        try
        {
            return _writer.TryAwaitSpace();
        }
        catch (IOException)
        {
            return false;
        }
    }

    private void Rebuild()
    {
        _directory ??= JournalDirectory.TryOpen(_disk, Names, out _);
        if (_directory is null) return;
        _rotation = _writer.BeginRebuild(_directory);
    }
}
