using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// Receives the snapshot of a primary into a file. Its length is announced, or a mark that is announced ends it. Any thread may
/// read the progress.
/// </summary>
internal sealed class FullCopy(PrimaryChannel channel, CancellationToken end)
{
    private const string MarkPrefix = "$EOF:";
    private const int MarkLength = 40;

    private long _bytesRead;

    /// <summary>The length of the snapshot; 0 if it was not announced.</summary>
    public long TotalBytes { get; private set; }

    public long BytesRead => Volatile.Read(ref _bytesRead);

    /// <summary>Receives the snapshot. The file is complete when the task ends.</summary>
    public async Task ReceiveAsync(IDiskFile file)
    {
        string head = await channel.ReadLineAsync(end).ConfigureAwait(false);
        if (head[0] == '-') throw new IOException($"MASTER aborted replication with an error: {head}");
        if (head.StartsWith(MarkPrefix, StringComparison.Ordinal) && head.Length == MarkPrefix.Length + MarkLength)
        {
            await ReceiveToMarkAsync(file, Encoding.Latin1.GetBytes(head[MarkPrefix.Length..])).ConfigureAwait(false);
            return;
        }
        if (head[0] != '$' || !long.TryParse(head[1..], NumberStyles.None, CultureInfo.InvariantCulture, out long length))
            throw new InvalidDataException($"Bad protocol from MASTER, the first byte is not '$' (we received '{head}')");
        TotalBytes = length;
        while (BytesRead < length)
        {
            if (channel.Count == 0) await channel.FillAsync(end).ConfigureAwait(false);
            Take(file, (int)Math.Min(channel.Count, length - BytesRead));
        }
    }

    private async Task ReceiveToMarkAsync(IDiskFile file, byte[] mark)
    {
        while (true)
        {
            int at = channel.Received.IndexOf(mark);
            // The end of the received bytes may be the beginning of the mark.
            Take(file, at >= 0 ? at : Math.Max(0, channel.Count - MarkLength + 1));
            if (at >= 0) break;
            await channel.FillAsync(end).ConfigureAwait(false);
        }
        channel.Advance(MarkLength);
    }

    private void Take(IDiskFile file, int bytes)
    {
        if (bytes == 0) return;
        file.Write(BytesRead, channel.Received[..bytes]);
        channel.Advance(bytes);
        Volatile.Write(ref _bytesRead, _bytesRead + bytes);
    }
}
