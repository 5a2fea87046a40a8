using System.Net.Sockets;
using System.Text;

namespace RedisClone.Server.Admin;

/// <summary>
/// What systemd wants to hear from a service of Type=notify: a datagram to the socket that it names in the environment. A name that
/// begins with @ is one outside the file system.
/// </summary>
internal sealed class Supervisor(SupervisedMode mode, string? notifySocket)
{
    public const string Variable = "NOTIFY_SOCKET";

    private readonly bool _listens = mode is SupervisedMode.Systemd or SupervisedMode.Auto && !string.IsNullOrEmpty(notifySocket);

    public void Ready() => Send("STATUS=Ready to accept connections\nREADY=1\n");

    public void Stopping() => Send("STOPPING=1\n");

    /// <summary>A failure affects no client, so it is ignored.</summary>
    private void Send(string state)
    {
        if (!_listens) return;
        try
        {
            string address = notifySocket!.StartsWith('@') ? '\0' + notifySocket[1..] : notifySocket;
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            socket.SendTo(Encoding.UTF8.GetBytes(state), new UnixDomainSocketEndPoint(address));
        }
        catch (SocketException)
        {
        }
    }
}
