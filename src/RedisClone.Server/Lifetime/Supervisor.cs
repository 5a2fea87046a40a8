using System.Net.Sockets;
using System.Text;
using RedisClone.Configuration;

namespace RedisClone.Server.Lifetime;

/// <summary>
/// Notifies systemd of the state of a service with Type=notify: a datagram to the socket named in the environment. A name that
/// begins with @ is an abstract socket.
/// </summary>
internal sealed class Supervisor(SupervisedMode mode, string? notifySocket)
{
    public const string Variable = "NOTIFY_SOCKET";

    private readonly bool _listens = mode is SupervisedMode.Systemd or SupervisedMode.Auto && !string.IsNullOrEmpty(notifySocket);

    public void Ready() => Send("STATUS=Ready to accept connections\nREADY=1\n");

    public void Stopping() => Send("STOPPING=1\n");

    /// <summary>A failure is ignored, because it affects no client.</summary>
    private void Send(string state)
    {
        if (!_listens) return;
        try
        {
            string address = notifySocket!.StartsWith('@') ? '\0' + notifySocket[1..] : notifySocket;
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            socket.SendTo(Encoding.UTF8.GetBytes(state), new UnixDomainSocketEndPoint(address));
        }
        catch (Exception e) when (e is SocketException or ArgumentException)
        {
        }
    }
}
