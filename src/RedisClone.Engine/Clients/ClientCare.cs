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
            long unsent = connection.UnsentBytes;
            if (unsent > 0) connection.KillIfOverLimit();
            // A client that reads a long reply is not idle.
            if (unsent != session.UnsentBefore) (session.UnsentBefore, session.LastInteraction) = (unsent, now);
            if (timeout == 0 || now - session.LastInteraction <= timeout) continue;
            // A client that waits for messages, is blocked or is paused is not idle.
            bool waits = session.Class != ClientClass.Normal || session.Waiter is not null || session.IsPaused || server.Monitors.Contains(session);
            if (waits || session.IsPrimary) continue;
            server.Log.LogDebug("Closing idle client");
            connection.Kill();
        }
        server.ClientMemory.Recount();
    }
}
