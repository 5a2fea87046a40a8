using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Clients;

/// <summary>A blocking client. Replies have the form of <see cref="ReplyText"/>; errors include their code.</summary>
internal sealed class TestClient : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly Socket _socket;
    private readonly byte[] _buffer = new byte[64 * 1024];
    private string _received = "";

    public TestClient(EndPoint endPoint)
    {
        _socket = new Socket(endPoint.AddressFamily, SocketType.Stream, endPoint is UnixDomainSocketEndPoint ? ProtocolType.Unspecified : ProtocolType.Tcp)
        {
            ReceiveTimeout = (int)Patience.TotalMilliseconds, SendTimeout = (int)Patience.TotalMilliseconds,
        };
        _socket.Connect(endPoint);
    }

    public Socket Socket => _socket;

    /// <summary>Sends a command and returns its reply. Spaces separate the arguments.</summary>
    public string Run(string line) => Call(line.Split(' '));

    public string Call(params string[] words)
    {
        Send(words);
        return Read();
    }

    public void Send(params string[] words) => SendRaw(Encode(words));

    public void SendRaw(string text) => _socket.Send(Encoding.Latin1.GetBytes(text));

    /// <summary>
    /// Sends to a server that may close the connection before it has read everything. The kernel then reports one of several
    /// errors.
    /// </summary>
    public void SendWhatIsTaken(string text)
    {
        try
        {
            SendRaw(text);
        }
        catch (SocketException)
        {
        }
    }

    public string Read()
    {
        int at = 0;
        return ReplyText.Read(ReadResp(), ref at);
    }

    /// <summary>Returns the bytes of a reply, one character for each.</summary>
    public string ReadResp()
    {
        while (true)
        {
            if (IsComplete(_received, 0) is var end && end >= 0)
            {
                string reply = _received[..end];
                _received = _received[end..];
                return reply;
            }
            int count = _socket.Receive(_buffer);
            if (count == 0) throw new EndOfStreamException("the server closed the connection");
            _received += Encoding.Latin1.GetString(_buffer, 0, count);
        }
    }

    /// <summary>
    /// Reads until the server closes the connection. A broken connection counts as closed. A silent server fails the test.
    /// </summary>
    public string ReadToEnd()
    {
        var text = new StringBuilder(_received);
        try
        {
            do Assert.True(_socket.Poll(Patience, SelectMode.SelectRead), "the server neither sends nor closes");
            while (_socket.Receive(_buffer) is > 0 and var count && text.Append(Encoding.Latin1.GetString(_buffer, 0, count)).Length > 0);
        }
        catch (SocketException)
        {
        }
        return text.ToString();
    }

    public static string Encode(params string[] words) =>
        $"*{words.Length}\r\n" + string.Concat(words.Select(word => $"${word.Length}\r\n{word}\r\n"));

    /// <summary>Repeats a command until its reply fulfils a condition.</summary>
    public async Task UntilAsync(string line, Func<string, bool> holds)
    {
        long start = Environment.TickCount64;
        string answer;
        while (!holds(answer = Run(line)))
        {
            Assert.True(Environment.TickCount64 - start < Patience.TotalMilliseconds, $"{line} still answers {answer}");
            await Task.Delay(5);
        }
    }

    public void Dispose() => _socket.Dispose();

    /// <summary>Returns the end of the reply at a position, or -1 if the reply is incomplete.</summary>
    private static int IsComplete(string text, int at)
    {
        int line = at < text.Length ? text.IndexOf("\r\n", at, StringComparison.Ordinal) : -1;
        if (line < 0) return -1;
        int next = line + 2;
        if (!"$=*%~>|".Contains(text[at])) return next;
        int count = int.Parse(text[(at + 1)..line], CultureInfo.InvariantCulture);
        if (count < 0) return next;
        if (text[at] is '$' or '=') return next + count + 2 <= text.Length ? next + count + 2 : -1;
        if (text[at] is '%' or '|') count *= 2;
        for (; count > 0 && next >= 0; count--) next = IsComplete(text, next);
        return next;
    }
}
