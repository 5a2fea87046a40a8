using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// A primary that answers the handshake of a replica and then sends the bytes that a test gives it, whatever they are. It counts
/// the replicas that asked for data.
/// </summary>
internal sealed class FakePrimary : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly Func<int, string?> _answer;
    private int _asked;

    /// <param name="answer">
    /// Returns the reply to the PSYNC of this number, from 1, and everything after it; null to close the connection.
    /// </param>
    public FakePrimary(Func<int, string?> answer)
    {
        _answer = answer;
        _listener.Start();
        _ = AcceptAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    public int Asked => Volatile.Read(ref _asked);

    public void Dispose() => _listener.Stop();

    private async Task AcceptAsync()
    {
        try
        {
            while (true) _ = ServeAsync(await _listener.AcceptTcpClientAsync());
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
        }
    }

    private async Task ServeAsync(TcpClient client)
    {
        try
        {
            NetworkStream stream = client.GetStream();
            byte[] buffer = new byte[4096];
            for (int read; (read = await stream.ReadAsync(buffer)) > 0;)
            {
                string request = Encoding.Latin1.GetString(buffer, 0, read);
                string? reply = request.Contains("PSYNC", StringComparison.Ordinal) ? _answer(Interlocked.Increment(ref _asked))
                    : request.Contains("PING", StringComparison.Ordinal) ? "+PONG\r\n"
                    : request.Contains("ACK", StringComparison.Ordinal) ? "" : "+OK\r\n";
                if (reply is null) break;
                await stream.WriteAsync(Encoding.Latin1.GetBytes(reply));
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
        }
        client.Dispose();
    }
}
