using RedisClone.Configuration;

namespace RedisClone.Engine.Clients;

/// <summary>
/// Checks all clients once a second: closes idle clients and clients over their output limit, and counts the memory of all
/// clients again.
/// </summary>
internal sealed class ClientCare(ServerCore server)
{
    public void Run(long now)
    {
        long timeout = server.Config.Timeout * 1000L;
        foreach (Session session in server.Sessions.Unordered)
        {
            IClientConnection connection = session.Connection!;
            if (connection.UnsentBytes > 0) connection.KillIfOverLimit();
            if (timeout == 0 || now - session.LastInteraction <= timeout) continue;
            // A client that waits for messages, is blocked or is paused is not idle.
            if (session.Class != ClientClass.Normal || session.IsPrimary || session.Waiter is not null || session.IsPaused) continue;
            server.Log.LogDebug("Closing idle client");
            connection.Kill();
        }
        server.ClientMemory.Recount();
    }
}
