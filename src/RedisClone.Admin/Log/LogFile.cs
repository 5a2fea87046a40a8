using RedisClone.Engine.Failures;

namespace RedisClone.Admin.Log;

/// <summary>
/// A log file that stays open while its path leads to it. After a log rotation (the file was moved, removed or truncated), the
/// next line opens the path again. Not thread-safe, except for <see cref="AppendLast"/>.
/// </summary>
internal sealed class LogFile(string path) : IDisposable
{
    private FileStream? _file;

    /// <summary>
    /// Appends a line. Returns false if the write failed. A partial line is then removed if the file supports it.
    /// </summary>
    public bool Append(ReadOnlySpan<byte> line)
    {
        long end = -1;
        try
        {
            if (_file is { CanSeek: true } && !IsStillThere(_file.Length)) Dispose();
            _file ??= Open();
            if (_file.CanSeek) end = _file.Seek(0, SeekOrigin.End);
            _file.Write(line);
            return true;
        }
        catch (Exception)
        {
            CutAt(end);
            Dispose();
            return false;
        }
    }

    /// <summary>
    /// Appends the last line before the process ends. May be called on any thread. It allocates nothing if the file is open.
    /// </summary>
    public void AppendLast(ReadOnlySpan<byte> line)
    {
        try
        {
            FileStream file = _file ?? Open();
            if (file.CanSeek) RandomAccess.Write(file.SafeFileHandle, line, RandomAccess.GetLength(file.SafeFileHandle));
            else file.Write(line);
        }
        catch (Exception)
        {
            LostLines.Add();
        }
    }

    public void Dispose()
    {
        try
        {
            _file?.Dispose();
        }
        catch (Exception)
        {
            // Dispose reports an earlier write error again.
        }
        _file = null;
    }

    private FileStream Open() =>
        new(path, FileMode.OpenOrCreate, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);

    private void CutAt(long end)
    {
        if (end < 0) return;
        try
        {
            _file?.SetLength(end);
        }
        catch (Exception)
        {
            // The partial line stays in the file.
        }
    }

    /// <summary>
    /// Compares only lengths: a new file of the same length is not detected until the next line makes the lengths differ.
    /// </summary>
    private bool IsStillThere(long length)
    {
        var named = new FileInfo(path);
        return named.Exists && named.Length == length;
    }
}
