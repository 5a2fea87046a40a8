using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// A minimal client. It writes the given bytes and reads one reply at a time, RESP2 or RESP3, without interpreting either. A read
/// that gets no byte for a minute fails, so no call waits forever.
/// </summary>
internal sealed class RespClient : IDisposable
{
    private const int UsualPatience = 60_000;

    private readonly Socket _socket;
    private readonly int _patience;
    private readonly byte[] _buffer = new byte[64 * 1024];
    private int _at, _end;

    /// <param name="port">The port of the server on this machine.</param>
    /// <param name="receiveBuffer">The size of the socket's buffer in bytes; 0 for the usual one.</param>
    /// <param name="patience">Milliseconds after which a call fails that gets no byte.</param>
    public RespClient(int port, int receiveBuffer = 0, int patience = UsualPatience)
    {
        _patience = patience;
        _socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        if (receiveBuffer > 0) _socket.ReceiveBufferSize = receiveBuffer;
        _socket.ReceiveTimeout = _socket.SendTimeout = patience;
        _socket.Connect(IPAddress.Loopback, port);
    }

    /// <summary>Pushes (RESP3) that arrived between replies.</summary>
    public Queue<Reply> Pushes { get; } = [];

    public Socket Socket => _socket;

    public Reply Call(params IReadOnlyList<string> arguments)
    {
        Send(arguments);
        return Read();
    }

    /// <summary>
    /// Sends a request and fails if the reply is not the expected one, in the form of <see cref="Reply.ToString"/>.
    /// </summary>
    public void Expect(string reply, params IReadOnlyList<string> arguments)
    {
        string actual = Call(arguments).ToString();
        Assert.True(actual == reply, $"{Requests.Show(arguments)}: {actual}, not {reply}");
    }

    /// <summary>A figure of INFO.</summary>
    public string Figure(string name, string section = "everything") =>
        Call("INFO", section).Text!.Split("\r\n").First(line => line.StartsWith(name + ":", StringComparison.Ordinal))[(name.Length + 1)..];

    public void Send(params IReadOnlyList<string> arguments) => SendRaw(Requests.Encode(arguments));

    public void SendRaw(string text) => SendRaw(Encoding.Latin1.GetBytes(text));

    public void SendRaw(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty) bytes = bytes[_socket.Send(bytes)..];
    }

    /// <summary>
    /// Writes to a server that may close the connection or stop reading before it has all bytes. The error that the kernel
    /// reports in this case is random. No wait for the server is longer than <paramref name="patience"/>.
    /// </summary>
    public void SendWhatIsTaken(ReadOnlySpan<byte> bytes, int patience = UsualPatience)
    {
        _socket.SendTimeout = patience;
        try
        {
            SendRaw(bytes);
        }
        catch (SocketException)
        {
        }
        _socket.SendTimeout = _patience;
    }

    /// <summary>
    /// Writes all requests, then reads all replies. The requests and the replies must fit into the socket buffers.
    /// </summary>
    public Reply[] Pipeline(IReadOnlyList<IReadOnlyList<string>> requests)
    {
        var bytes = new List<byte>();
        foreach (IReadOnlyList<string> request in requests) bytes.AddRange(Requests.Encode(request));
        SendRaw(bytes.ToArray());
        var replies = new Reply[requests.Count];
        for (int i = 0; i < replies.Length; i++) replies[i] = Read();
        return replies;
    }

    /// <summary>Reads the next reply. Pushes before it go to <see cref="Pushes"/>.</summary>
    public Reply Read()
    {
        while (true)
        {
            Reply reply = ReadAny();
            if (reply.Type != '>') return reply;
            Pushes.Enqueue(reply);
        }
    }

    public Reply ReadAny()
    {
        string line = ReadLine();
        char type = line[0];
        string rest = line[1..];
        switch (type)
        {
            case '+' or '-' or ':' or ',' or '#' or '(' or '_':
                return new Reply(type, rest);
            case '$' or '=' or '!':
                int length = int.Parse(rest, CultureInfo.InvariantCulture);
                return new Reply(type, length < 0 ? null : ReadBulk(length));
            case '*' or '~' or '>' or '%' or '|':
                int count = int.Parse(rest, CultureInfo.InvariantCulture);
                if (count < 0) return new Reply(type, null);
                var items = new Reply[type is '%' or '|' ? count * 2 : count];
                for (int i = 0; i < items.Length; i++) items[i] = ReadAny();
                return new Reply(type, null, items);
            default:
                throw new InvalidDataException($"no reply begins with {Requests.Quote(line)}");
        }
    }

    /// <summary>
    /// Reads until the server closes the connection. A broken connection counts as closed. A silent server fails the test.
    /// </summary>
    public string ReadToClose()
    {
        var all = new StringBuilder();
        while (Fill())
        {
            all.Append(Encoding.Latin1.GetString(_buffer, _at, _end - _at));
            _at = _end;
        }
        return all.ToString();
    }

    public string ReadLine()
    {
        var line = new StringBuilder();
        while (true)
        {
            char c = (char)ReadByte();
            if (c == '\n' && line.Length > 0 && line[^1] == '\r') return line.ToString(0, line.Length - 1);
            line.Append(c);
        }
    }

    /// <summary>Skips bytes.</summary>
    public void Skip(int bytes)
    {
        for (; bytes > 0; bytes--) ReadByte();
    }

    /// <summary>Reads up to a mark, which is not returned.</summary>
    public byte[] ReadTo(string mark)
    {
        byte[] end = Encoding.Latin1.GetBytes(mark);
        var all = new List<byte>();
        do all.Add((byte)ReadByte());
        while (all[^1] != end[^1] || !CollectionsMarshal.AsSpan(all).EndsWith(end));
        return [.. all[..^end.Length]];
    }

    public void Dispose() => _socket.Dispose();

    private string ReadBulk(int length)
    {
        var bytes = new byte[length + 2];
        for (int got = 0; got < bytes.Length;)
        {
            if (_at == _end && !Fill()) throw new EndOfStreamException("the server closed within a bulk string");
            int part = Math.Min(_end - _at, bytes.Length - got);
            _buffer.AsSpan(_at, part).CopyTo(bytes.AsSpan(got));
            _at += part;
            got += part;
        }
        if (bytes[^2] != '\r' || bytes[^1] != '\n') throw new InvalidDataException("a bulk string is longer than it says");
        return Encoding.Latin1.GetString(bytes, 0, length);
    }

    private byte ReadByte()
    {
        if (_at == _end && !Fill()) throw new EndOfStreamException("the server closed the connection");
        return _buffer[_at++];
    }

    private bool Fill()
    {
        _at = 0;
        _end = 0;
        try
        {
            // Poll would be wrong here: while the kernel drops the output of a reset connection, it reports neither input nor an end.
            _end = _socket.Receive(_buffer);
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.TimedOut)
        {
            throw new TimeoutException("the server neither sends nor closes");
        }
        catch (SocketException)
        {
        }
        return _end > 0;
    }
}
