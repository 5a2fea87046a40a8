namespace RedisClone.Server.Admin;

/// <summary>
/// A log file that stays open as long as its name still leads to it: after it was moved, removed or cut (a rotation), the next line
/// begins a new file. Not thread-safe, except for <see cref="AppendLast"/>.
/// </summary>
internal sealed class LogFile(string path) : IDisposable
{
    private FileStream? _file;

    /// <summary>False when the line could not be written. The file has none of it then, where it can be cut.</summary>
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
    /// Any thread, before the process ends: uses the file that is open if there is one, which allocates nothing.
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
            // Closing reports an earlier failure again.
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
            // The beginning of a line stays.
        }
    }

    /// <summary>Another file of the same length would be taken for this one; the next line tells them apart.</summary>
    private bool IsStillThere(long length)
    {
        var named = new FileInfo(path);
        return named.Exists && named.Length == length;
    }
}
