using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Replication;
using RedisClone.Protocol;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Clients;

/// <summary>
/// The connection of a client, as commands and the other parts of the engine use it. As a work item, it wakes a connection that
/// waits for input, so that the connection writes its pending messages.
/// </summary>
internal interface IClientConnection : IMessageTarget, IThreadPoolWorkItem
{
    Session Session { get; }

    /// <summary>The event loop that owns the connection; null if the transport has no event loops.</summary>
    IEventLoop? Loop { get; }

    /// <summary>The command that is being executed, or that has blocked the client.</summary>
    CommandRow CurrentRow { get; }

    Request CurrentRequest { get; }

    /// <summary>Bytes of the requests that are being executed, or of an incomplete one.</summary>
    long QueryBytes { get; }

    /// <summary>Bytes reserved for an argument whose length the client has announced.</summary>
    long QueryRoom { get; }

    /// <summary>
    /// Bytes of the arrays that hold the input, if they are larger than usual, or if the client waits and keeps them.
    /// </summary>
    long InputRoom(bool waits);

    /// <summary>Bytes that the batch keeps for later requests, beyond what every client has.</summary>
    long BatchRoom { get; }

    /// <summary>Bytes of replies that are not handed to the transport yet.</summary>
    long ReplyBytes { get; }

    /// <summary>Bytes that the client has not taken yet.</summary>
    long UnsentBytes { get; }

    /// <summary>Output bytes of earlier turns that are kept for this client alone.</summary>
    long OutputBytes { get; }

    /// <summary>The number of messages that wait to be written.</summary>
    int PendingMessages { get; }

    /// <summary>The socket's descriptor, or -1 if the transport does not know it.</summary>
    long Descriptor { get; }

    /// <summary>Whether the transport has reported the end of the connection.</summary>
    bool IsClosed { get; }

    /// <summary>
    /// Ends the connection without waiting for its output. It stops counting as connected at once. Any thread may call it.
    /// </summary>
    void Kill();

    /// <summary>Closes the connection after its pending output is sent. Any thread may call it.</summary>
    void Close();

    /// <summary>Disconnects a client whose unread output exceeds its limit. Any thread may call it.</summary>
    bool KillIfOverLimit();

    /// <summary>Sends an encoded message that is not a reply. Any thread may call it, also under a hold.</summary>
    void Push(byte[] message);

    /// <summary>
    /// Ends the client's subscriptions to channels whose slots this node does not have any more, after the pending messages. Any thread
    /// may call it.
    /// </summary>
    void EndForeignSubscriptions();

    /// <summary>
    /// Writes the pending messages. They may show effects of other clients that are not durable yet, so all effects placed so
    /// far count as seen.
    /// </summary>
    void WriteMessages();

    /// <summary>Starts or stops dropping the replies.</summary>
    void Mute(bool muted);

    /// <summary>Resumes a suspended connection on its own thread. Any thread may call it, also under a hold.</summary>
    void Resume();

    /// <summary>Resumes the connection inline. Only its own thread may call it.</summary>
    void ResumeHere();

    /// <summary>
    /// Makes a command that waits for its shards be checked again, because it would be refused now. Any thread may call it.
    /// </summary>
    void Reconsider();

    /// <summary>Makes the client a replica of a stream. Its unread output stays in the stream, which all its replicas share.</summary>
    Replica AsReplica(ReplicationStream stream);
}
