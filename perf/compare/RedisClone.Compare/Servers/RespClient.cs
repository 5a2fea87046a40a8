using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Compare.Servers;

/// <summary>A blocking connection for the requests around a load: PING, the number of keys, the counters.</summary>
internal sealed class RespClient : IDisposable
{
    private readonly TcpClient _client;
    private readonly Stream _stream;

    public RespClient(int port)
    {
        _client = new TcpClient { NoDelay = true, ReceiveTimeout = 60_000 };
        _client.Connect(IPAddress.Loopback, port);
        _stream = new BufferedStream(_client.GetStream());
    }

    /// <summary>Sends a request. Returns a reply of one line with its type byte, and a bulk string without it.</summary>
    public string Ask(params IEnumerable<string> arguments)
    {
        string[] all = [.. arguments];
        var request = new StringBuilder($"*{all.Length}\r\n");
        foreach (string argument in all)
            request.Append(CultureInfo.InvariantCulture, $"${Encoding.UTF8.GetByteCount(argument)}\r\n{argument}\r\n");
        _stream.Write(Encoding.UTF8.GetBytes(request.ToString()));
        _stream.Flush();

        string line = ReadLine();
        if (!line.StartsWith('$') || line == "$-1")
            return line;
        byte[] body = new byte[int.Parse(line.AsSpan(1), CultureInfo.InvariantCulture) + 2];
        _stream.ReadExactly(body);
        return Encoding.UTF8.GetString(body, 0, body.Length - 2);
    }

    /// <summary>Returns a figure of a section of INFO, or null if the server does not report it.</summary>
    public long? Figure(string section, string name)
    {
        string? line = Ask("INFO", section).Split('\n').FirstOrDefault(l => l.StartsWith($"{name}:", StringComparison.Ordinal));
        return line is null ? null : long.Parse(line.AsSpan(name.Length + 1).Trim(), CultureInfo.InvariantCulture);
    }

    public void Dispose()
    {
        _stream.Dispose();
        _client.Dispose();
    }

    private string ReadLine()
    {
        var line = new StringBuilder();
        for (int next = _stream.ReadByte(); next != '\n'; next = _stream.ReadByte())
        {
            if (next < 0)
                throw new IOException("the server closed the connection");
            if (next != '\r')
                line.Append((char)next);
        }

        return line.ToString();
    }
}
