using System.Collections.Concurrent;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Pubsub;
using RedisClone.Protocol;

namespace RedisClone.Server.Net;

/// <summary>
/// Messages for one client that are not replies: published messages, invalidations, MONITOR lines. Any thread may add one. Only
/// the thread that owns the connection writes them, in order with the replies.
/// </summary>
internal sealed class Pushes
{
    private readonly ConcurrentQueue<(byte[] Message, long Lsn)> _queue = new();
    private long _bytes;
    private int _waiting;

    /// <summary>Bytes of the messages that wait to be written.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    public bool Any => Volatile.Read(ref _waiting) != 0;

    public int Count => _queue.Count;

    /// <summary>
    /// Adds an encoded message, which many clients may share, and the LSN that it depends on. Returns true if the owner must be
    /// woken.
    /// </summary>
    public bool Add(byte[] message, long lsn)
    {
        Interlocked.Add(ref _bytes, message.Length);
        _queue.Enqueue((message, lsn));
        // A full fence here and in WriteTo: either this thread sees the owner's 0 and wakes it, or the owner sees the message.
        return Interlocked.Exchange(ref _waiting, 1) == 0;
    }

    /// <summary>Writes the messages that the client still expects. Returns the highest LSN that one depends on.</summary>
    public long WriteTo(ReplyWriter reply, Session session)
    {
        long seen = 0;
        Interlocked.Exchange(ref _waiting, 0);
        while (_queue.TryDequeue(out (byte[] Message, long Lsn) next))
        {
            Interlocked.Add(ref _bytes, -next.Message.Length);
            if (!session.HasLeft) reply.Raw(next.Message);
            else if (LeftMessages.IsExpected(session, next.Message)) LeftMessages.Write(reply, next.Message);
            seen = Math.Max(seen, next.Lsn);
        }
        return seen;
    }
}
