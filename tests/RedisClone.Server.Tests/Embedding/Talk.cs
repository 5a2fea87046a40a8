using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Server.Tests.Embedding;

/// <summary>Sends requests and receives replies as text over any stream.</summary>
internal static class Talk
{
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public static Stream Dial(int port) => Dial(new IPEndPoint(IPAddress.Loopback, port), ProtocolType.Tcp);

    public static Stream Dial(EndPoint endPoint, ProtocolType protocol = ProtocolType.Unspecified)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, protocol);
        socket.Connect(endPoint);
        return new NetworkStream(socket, ownsSocket: true);
    }

    /// <summary>Sends an inline command, unless it is empty, and waits for exactly this reply.</summary>
    public static async Task ExpectAsync(this Stream stream, string command, string reply)
    {
        if (command.Length > 0) await stream.WriteAsync(Encoding.Latin1.GetBytes(command + "\r\n"));
        if (reply.Length == 0) return;
        byte[] buffer = new byte[reply.Length];
        int received = 0;
        do
        {
            int count = await stream.ReadAsync(buffer.AsMemory(received)).AsTask().WaitAsync(Patience);
            received = count == 0 ? throw new EndOfStreamException() : received + count;
            Assert.Equal(reply[..received], Encoding.Latin1.GetString(buffer, 0, received));
        }
        while (received < reply.Length);
    }

    /// <summary>
    /// Fails unless the server has closed the connection and sent no more bytes. A broken connection counts as closed.
    /// </summary>
    public static async Task ExpectEndAsync(this Stream stream)
    {
        try
        {
            Assert.Equal(0, await stream.ReadAsync(new byte[1]).AsTask().WaitAsync(Patience));
        }
        catch (IOException)
        {
        }
    }

    /// <summary>Repeats a command until its bulk reply contains the text.</summary>
    public static async Task UntilAsync(this Stream stream, string command, string text)
    {
        long start = Environment.TickCount64;
        string reply;
        while (!(reply = await stream.AskAsync(command)).Contains(text, StringComparison.Ordinal))
        {
            Assert.True(Environment.TickCount64 - start < Patience.TotalMilliseconds, $"{command} still has the reply {reply}");
            await Task.Delay(5);
        }
    }

    /// <summary>Returns the reply, which must be a bulk string.</summary>
    public static async Task<string> AskAsync(this Stream stream, string command)
    {
        await stream.WriteAsync(Encoding.Latin1.GetBytes(command + "\r\n"));
        int length = int.Parse((await stream.ReadLineAsync())[1..]);
        byte[] body = new byte[length + 2];
        await stream.ReadExactlyAsync(body).AsTask().WaitAsync(Patience);
        return Encoding.Latin1.GetString(body, 0, length);
    }

    private static async Task<string> ReadLineAsync(this Stream stream)
    {
        var line = new StringBuilder();
        byte[] one = new byte[1];
        while (line.Length < 2 || line[^1] != '\n')
        {
            await stream.ReadExactlyAsync(one).AsTask().WaitAsync(Patience);
            line.Append((char)one[0]);
        }
        return line.ToString(0, line.Length - 2);
    }
}
