namespace RedisClone.Server.Admin;

/// <summary>
/// A log file that stays open as long as its name still leads to it: after it was moved, removed or cut (a rotation), the next line
/// begins anew. Not thread-safe.
/// </summary>
internal sealed class LogFile(string path) : IDisposable
{
    private FileStream? _file;

    /// <summary>A line that cannot be written is lost: there is no one to tell.</summary>
    public void Append(ReadOnlySpan<byte> line)
    {
        try
        {
            if (_file is { CanSeek: true } && !IsStillThere(_file.Length)) Dispose();
            _file ??= new FileStream(path, FileMode.OpenOrCreate, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            if (_file.CanSeek) _file.Seek(0, SeekOrigin.End);
            _file.Write(line);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            Dispose();
        }
    }

    public void Dispose()
    {
        _file?.Dispose();
        _file = null;
    }

    /// <summary>Another file of the same length would be taken for this one; the next line tells them apart.</summary>
    private bool IsStillThere(long length)
    {
        var named = new FileInfo(path);
        return named.Exists && named.Length == length;
    }
}
