using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Net;

/// <summary>Looks after all clients once a second: who is idle for too long, who has left too much unread for too long, what all together hold.</summary>
internal sealed class ClientCare(ServerCore server)
{
    public void Run(long now)
    {
        long timeout = server.Config.Timeout * 1000L;
        foreach (Session session in server.Sessions.Unordered)
        {
            Connection connection = session.Connection!;
            if (connection.UnsentBytes > 0) connection.KillIfOverLimit();
            if (timeout == 0 || now - session.LastInteraction <= timeout) continue;
            // Who waits for a message or to be served is not idle.
            if (session.Class != ClientClass.Normal || session.Waiter is not null || session.IsPaused) continue;
            server.Log.LogDebug("Closing idle client");
            connection.Kill();
        }
        server.ClientMemory.Recount();
    }
}
