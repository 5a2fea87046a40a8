using System.Collections.Concurrent;
using RedisClone.Protocol;

namespace RedisClone.Server.Net;

/// <summary>
/// Messages for one client that are no replies: published messages, invalidations, MONITOR lines. Any thread adds; only the thread
/// that owns the connection writes them out, in order with its replies.
/// </summary>
internal sealed class Pushes
{
    private readonly ConcurrentQueue<byte[]> _queue = new();
    private long _bytes;
    private int _waiting;

    /// <summary>Bytes that wait to be written.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    public bool Any => Volatile.Read(ref _waiting) != 0;

    public int Count => _queue.Count;

    /// <summary>Adds an encoded message, which may be shared by many clients. True when the owner must be woken.</summary>
    public bool Add(byte[] message)
    {
        Interlocked.Add(ref _bytes, message.Length);
        _queue.Enqueue(message);
        // Full fence, and again in WriteTo: either we see the owner's 0 and wake it, or it sees our message.
        return Interlocked.Exchange(ref _waiting, 1) == 0;
    }

    public void WriteTo(ReplyWriter reply)
    {
        Interlocked.Exchange(ref _waiting, 0);
        while (_queue.TryDequeue(out byte[]? message))
        {
            Interlocked.Add(ref _bytes, -message.Length);
            reply.Raw(message);
        }
    }
}
