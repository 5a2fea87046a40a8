using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// Receives the snapshot of a primary. Its length is announced, or a mark that is announced ends it. It goes to a file, or a reader
/// takes it from the connection: it is then a file that is read once, from the beginning to the end. Any thread may read the progress.
/// </summary>
internal sealed class FullCopy(PrimaryChannel channel, CancellationToken end) : IDiskFile
{
    private const string MarkPrefix = "$EOF:";
    private const int MarkLength = 40;

    private readonly long _started = Stopwatch.GetTimestamp();
    private long _bytesRead;
    private byte[]? _mark;
    private bool _hasEnded;

    /// <summary>The length of the snapshot; 0 if it was not announced.</summary>
    public long TotalBytes { get; private set; }

    public long BytesRead => Volatile.Read(ref _bytesRead);

    public TimeSpan Taken => Stopwatch.GetElapsedTime(_started);

    long IDiskFile.Length => _mark is null ? TotalBytes : RdbReader.Endless;

    /// <summary>Receives the line before the snapshot.</summary>
    public async Task BeginAsync()
    {
        string head = await channel.ReadLineAsync(end).ConfigureAwait(false);
        if (head[0] == '-') throw new IOException($"MASTER aborted replication with an error: {head}");
        if (head.StartsWith(MarkPrefix, StringComparison.Ordinal) && head.Length == MarkPrefix.Length + MarkLength)
        {
            _mark = Encoding.Latin1.GetBytes(head[MarkPrefix.Length..]);
            return;
        }
        if (head[0] != '$' || !long.TryParse(head[1..], NumberStyles.None, CultureInfo.InvariantCulture, out long length))
            throw new InvalidDataException($"Bad protocol from MASTER, the first byte is not '$' (we received '{head}')");
        TotalBytes = length;
    }

    /// <summary>Receives the snapshot. The file is complete when the task ends.</summary>
    public async Task ReceiveAsync(IDiskFile file)
    {
        for (int bytes; (bytes = await NextAsync().ConfigureAwait(false)) > 0;)
        {
            try
            {
                file.Write(BytesRead, channel.Received[..bytes]);
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                throw UnloadableCopyException.Unwritable(failure);
            }
            Take(bytes);
        }
    }

    /// <summary>Whether the whole snapshot was taken.</summary>
    public async Task<bool> HasEndedAsync() => await NextAsync().ConfigureAwait(false) == 0;

    int IDiskFile.Read(long offset, Span<byte> into)
    {
        if (offset != BytesRead) throw new InvalidOperationException("A snapshot on a connection is read in its order.");
        ValueTask<int> next = NextAsync(ownsThread: true);
        int bytes = Math.Min(next.IsCompletedSuccessfully ? next.Result : next.AsTask().GetAwaiter().GetResult(), into.Length);
        channel.Received[..bytes].CopyTo(into);
        Take(bytes);
        return bytes;
    }

    /// <summary>Waits for further bytes of the snapshot. Returns their number at the beginning of the received bytes; 0 at the end.</summary>
    /// <param name="ownsThread">See <see cref="PrimaryChannel.FillAsync"/>.</param>
    private async ValueTask<int> NextAsync(bool ownsThread = false)
    {
        if (_mark is null)
        {
            if (BytesRead == TotalBytes) return 0;
            if (channel.Count == 0) await channel.FillAsync(end, ownsThread).ConfigureAwait(false);
            return (int)Math.Min(channel.Count, TotalBytes - BytesRead);
        }
        while (!_hasEnded)
        {
            int at = channel.Received.IndexOf(_mark);
            // The end of the received bytes may be the beginning of the mark.
            int certain = at >= 0 ? at : Math.Max(0, channel.Count - MarkLength + 1);
            if (certain > 0) return certain;
            if (at < 0) await channel.FillAsync(end, ownsThread).ConfigureAwait(false);
            else
            {
                channel.Advance(MarkLength);
                _hasEnded = true;
            }
        }
        return 0;
    }

    private void Take(int bytes)
    {
        channel.Advance(bytes);
        Volatile.Write(ref _bytesRead, _bytesRead + bytes);
    }

    void IDiskFile.Write(long offset, ReadOnlySpan<byte> bytes) => throw new NotSupportedException();

    void IDiskFile.Write(long offset, IReadOnlyList<ReadOnlyMemory<byte>> parts) => throw new NotSupportedException();

    void IDiskFile.Flush() => throw new NotSupportedException();

    void IDiskFile.Truncate(long length) => throw new NotSupportedException();

    void IDisposable.Dispose()
    {
    }
}
