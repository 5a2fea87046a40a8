using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Protocol;
using RedisClone.Scheduling;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// The primary as a client: the session in which its commands run, and what CLIENT LIST and CLIENT KILL use. It gets no replies
/// and no messages.
/// </summary>
internal sealed class PrimaryClient : IClientConnection
{
    private readonly IPrimaryConnection _connection;
    private readonly Action _kill;

    public PrimaryClient(ServerCore server, ReplyWriter reply, IPrimaryConnection connection, Action kill)
    {
        (_connection, _kill) = (connection, kill);
        Session = new Session(server, server.Sessions.NextId(), reply)
        {
            Connection = this,
            Authenticated = true,
            User = server.Access.Users.Superuser,
            InTransaction = true,
            IsReplay = true,
            IsPrimary = true,
            NoEvict = true,
            PeerName = connection.PeerName,
            LocalName = connection.LocalName,
            LastInteraction = ServerCore.UnixMilliseconds(),
        };
    }

    public Session Session { get; }

    public IEventLoop? Loop => null;

    public CommandRow CurrentRow => Session.LastCommand!;

    public Request CurrentRequest => default;

    public long QueryBytes => 0;

    public long QueryRoom => 0;

    public long BatchRoom => 0;

    public long ReplyBytes => 0;

    public long UnsentBytes => 0;

    public long OutputBytes => 0;

    public int PendingMessages => 0;

    public long Descriptor => _connection.Descriptor;

    public bool IsClosed => false;

    public long InputRoom(bool waits) => 0;

    public void Kill() => _kill();

    public void Close() => _kill();

    public bool KillIfOverLimit() => false;

    public void Push(byte[] message)
    {
    }

    public void EndForeignSubscriptions()
    {
        // The commands of a primary do not subscribe.
    }

    public void WriteMessages()
    {
    }

    public void Mute(bool muted)
    {
    }

    public void Resume()
    {
    }

    public void ResumeHere()
    {
    }

    public void Reconsider()
    {
    }

    public Replica AsReplica(ReplicationStream stream) => throw new NotSupportedException("a primary does not become a replica on its own connection");

    void IMessageTarget.PushNow(byte[] message, long lsn)
    {
    }

    bool IMessageTarget.IsTooMuch(long bytes) => false;

    void IMessageTarget.Lose()
    {
    }

    void IThreadPoolWorkItem.Execute()
    {
    }
}
