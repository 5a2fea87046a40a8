using System.Text;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// The bytes of the connection to a primary: received bytes in one buffer, and sending from several threads. Only the task of the
/// <see cref="Follower"/> reads.
/// </summary>
internal sealed class PrimaryChannel(IPrimaryConnection connection, int usualSize = PrimaryChannel.StreamSize) : IDisposable
{
    /// <summary>The usual size of the buffer for a replication stream.</summary>
    public const int StreamSize = 256 * 1024;

    private const int LongestLine = 4096;

    private readonly SemaphoreSlim _sending = new(1, 1);
    private byte[] _buffer = new byte[usualSize];
    private int _start, _end;
    private long _waitsSince;
    private long _lastInput = ServerCore.UnixMilliseconds();

    public IPrimaryConnection Connection => connection;

    /// <summary>The array of the received bytes. It is replaced only by <see cref="FillAsync"/>.</summary>
    public byte[] Buffer => _buffer;

    /// <summary>The position of the first received byte in <see cref="Buffer"/>.</summary>
    public int Start => _start;

    public ReadOnlySpan<byte> Received => _buffer.AsSpan(_start, _end - _start);

    /// <summary>The number of bytes in <see cref="Received"/>. Any thread may read it.</summary>
    public int Count => _end - _start;

    /// <summary>The time of the last input in Unix milliseconds.</summary>
    public long LastInput => Volatile.Read(ref _lastInput);

    /// <summary>Whether the primary has sent nothing for this long although this server waits for it.</summary>
    public bool IsSilent(long now, long milliseconds)
    {
        long since = Volatile.Read(ref _waitsSince);
        return since > 0 && now - since > milliseconds;
    }

    public void Advance(int bytes) => _start += bytes;

    /// <summary>
    /// Receives further bytes. Throws if the connection ends. The thread that completes the operations of all sockets may run the caller. As
    /// long as the sender is faster than the caller, each read ends at once, so the caller would keep that thread: it continues on another one.
    /// </summary>
    /// <param name="end">Ends the wait.</param>
    /// <param name="ownsThread">Whether the calling thread completes no operations of sockets.</param>
    public async ValueTask FillAsync(CancellationToken end, bool ownsThread = false)
    {
        MakeRoom();
        Volatile.Write(ref _waitsSince, ServerCore.UnixMilliseconds());
        ValueTask<int> reading = connection.Stream.ReadAsync(_buffer.AsMemory(_end), end);
        bool isHere = reading.IsCompleted;
        int read = await reading.ConfigureAwait(false);
        Volatile.Write(ref _waitsSince, 0);
        Volatile.Write(ref _lastInput, ServerCore.UnixMilliseconds());
        if (read == 0) throw new IOException("Connection with master lost.");
        _end += read;
        if (isHere && !ownsThread) await Task.Yield();
    }

    /// <summary>Receives the next line that is not empty. A primary sends empty lines while it prepares a snapshot.</summary>
    public async ValueTask<string> ReadLineAsync(CancellationToken end)
    {
        while (true)
        {
            int length = Received.IndexOf((byte)'\n');
            if (length < 0)
            {
                if (Received.Length > LongestLine) throw new InvalidDataException("the master sent an endless line");
                await FillAsync(end).ConfigureAwait(false);
                continue;
            }
            string line = Encoding.Latin1.GetString(Received[..length].TrimEnd((byte)'\r'));
            Advance(length + 1);
            if (line.Length > 0) return line;
        }
    }

    /// <summary>Sends a command.</summary>
    public ValueTask SendAsync(CancellationToken end, params ReadOnlySpan<string> words) => SendAsync(Command(words), end);

    /// <summary>The bytes of a command.</summary>
    public static byte[] Command(ReadOnlySpan<string> words)
    {
        var text = new StringBuilder();
        text.Append('*').Append(words.Length).Append("\r\n");
        foreach (string word in words) text.Append('$').Append(Encoding.UTF8.GetByteCount(word)).Append("\r\n").Append(word).Append("\r\n");
        return Encoding.UTF8.GetBytes(text.ToString());
    }

    /// <summary>Sends bytes unless others are being sent. A failure shows when the connection is read.</summary>
    public void Post(byte[] bytes)
    {
        if (_sending.CurrentCount > 0) _ = PostAsync(bytes);
    }

    public void Dispose() => connection.Dispose();

    public async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken end)
    {
        await _sending.WaitAsync(end).ConfigureAwait(false);
        try
        {
            await connection.Stream.WriteAsync(bytes, end).ConfigureAwait(false);
            await connection.Stream.FlushAsync(end).ConfigureAwait(false);
        }
        finally
        {
            _sending.Release();
        }
    }

    private async Task PostAsync(byte[] bytes)
    {
        try
        {
            await SendAsync(bytes, CancellationToken.None).ConfigureAwait(false);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
            connection.Dispose();
        }
    }

    /// <summary>Makes room at the end of the buffer: at least a quarter of it.</summary>
    private void MakeRoom()
    {
        int kept = _end - _start;
        if (kept == 0)
        {
            _start = _end = 0;
            if (_buffer.Length > usualSize) _buffer = new byte[usualSize];
            return;
        }
        if (_buffer.Length - _end >= _buffer.Length / 4) return;
        if (kept == Array.MaxLength) throw new InvalidDataException("the master sent a command or transaction that is too long");
        byte[] to = kept > _buffer.Length / 2 ? new byte[(int)Math.Min(2L * _buffer.Length, Array.MaxLength)] : _buffer;
        _buffer.AsSpan(_start, kept).CopyTo(to);
        (_buffer, _start, _end) = (to, 0, kept);
    }
}
