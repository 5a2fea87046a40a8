using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;

namespace RedisClone.Engine.Durability;

/// <summary>Where the bytes of a snapshot go. The thread of the snapshot calls it.</summary>
internal interface ISnapshotOutput : IRdbTarget, IDisposable
{
    /// <summary>Whether the walk may go on. Captured records that wait in memory are written nevertheless.</summary>
    bool HasRoom { get; }

    void Open();

    /// <summary>Called after the last byte. The snapshot is complete when it returns.</summary>
    void End();

    /// <summary>Gives an incomplete snapshot up.</summary>
    void Discard();
}

/// <summary>A file of a snapshot.</summary>
/// <param name="disk">The file system.</param>
/// <param name="path">A temporary name; the owner of the snapshot renames the file.</param>
internal sealed class SnapshotFileOutput(IDisk disk, string path) : ISnapshotOutput
{
    private IDiskFile? _file;
    private RdbFileTarget? _target;

    public bool HasRoom => true;

    public void Open()
    {
        _file = disk.Open(path, DiskOpen.New);
        _target = new RdbFileTarget(_file);
    }

    public void Write(ReadOnlySpan<byte> bytes) => _target!.Write(bytes);

    /// <summary>Flushes the file to the disk.</summary>
    public void End()
    {
        _file!.Flush();
        Dispose();
    }

    /// <summary>Deletes the file if the disk allows it.</summary>
    public void Discard()
    {
        try
        {
            Dispose();
            disk.Delete(path);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            // A disk that fails to write may fail to delete too. The file's name shows that it is temporary.
        }
    }

    public void Dispose()
    {
        _file?.Dispose();
        _file = null;
    }
}
