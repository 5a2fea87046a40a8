using System.Diagnostics;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// A real redis-server as the oracle, on its own unix socket. REDIS_SERVER names another binary. Without a server, the tests that
/// compare with it fail.
/// </summary>
public sealed class RedisServer : IDisposable
{
    private readonly Process _process;
    private readonly string _folder;
    private readonly RedisConnection _connection;

    public RedisServer()
    {
        _folder = Directory.CreateTempSubdirectory("rc-oracle").FullName;
        var start = new ProcessStartInfo(Environment.GetEnvironmentVariable("REDIS_SERVER") ?? "redis-server")
        {
            RedirectStandardOutput = true,
        };
        foreach (string argument in new[] { "--port", "0", "--unixsocket", SocketPath, "--save", "", "--dir", _folder })
            start.ArgumentList.Add(argument);
        _process = Process.Start(start) ?? throw new InvalidOperationException("redis-server did not start");
        _process.OutputDataReceived += (_, _) => { };
        _process.BeginOutputReadLine();
        for (int i = 0; ; i++)
        {
            try
            {
                _connection = new RedisConnection(SocketPath);
                return;
            }
            catch (SocketException) when (i < 1200)
            {
                Thread.Sleep(50);
            }
        }
    }

    private string SocketPath => Path.Combine(_folder, "s");

    /// <summary>The version as one number: 7.0.15 is 70015.</summary>
    public int Version
    {
        get
        {
            string info = Call("INFO", "server");
            string[] parts = info.Split("redis_version:")[1].Split('\r')[0].Split('.');
            return int.Parse(parts[0]) * 10000 + int.Parse(parts[1]) * 100 + int.Parse(parts[2]);
        }
    }

    public RedisConnection Connect() => new(SocketPath);

    /// <summary>Calls a command and returns the payload of its reply, which must not be an aggregate.</summary>
    public string Call(params string[] arguments)
    {
        _connection.Send(arguments);
        return _connection.Read();
    }

    public List<string> Pipeline(IReadOnlyList<string[]> commands)
    {
        var replies = new List<string>();
        foreach (string[][] part in commands.Chunk(200))
        {
            foreach (string[] command in part) _connection.Send(command);
            foreach (string[] _ in part) replies.Add(_connection.Read());
        }
        return replies;
    }

    public void Dispose()
    {
        _connection.Dispose();
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
        Directory.Delete(_folder, true);
    }
}

public sealed class RedisConnection : IDisposable
{
    private readonly Socket _socket;
    private readonly BufferedStream _stream;

    public RedisConnection(string path)
    {
        _socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        _socket.Connect(new UnixDomainSocketEndPoint(path));
        _socket.ReceiveTimeout = 60_000;
        _stream = new BufferedStream(new NetworkStream(_socket));
    }

    public void Send(params string[] arguments)
    {
        Raw(Encoding.Latin1.GetBytes($"*{arguments.Length}\r\n"));
        foreach (string argument in arguments) Raw(Encoding.Latin1.GetBytes($"${argument.Length}\r\n{argument}\r\n"));
    }

    public void Raw(ReadOnlySpan<byte> bytes) => _stream.Write(bytes);

    public string Read()
    {
        _stream.Flush();
        string line = ReadLine() ?? throw new EndOfStreamException();
        if (line[0] != '$' || line == "$-1") return line[1..];
        var payload = new byte[int.Parse(line[1..])];
        _stream.ReadExactly(payload);
        ReadLine();
        return Encoding.Latin1.GetString(payload);
    }

    /// <summary>All lines until the server closes the connection.</summary>
    public List<string> ReadToEnd()
    {
        _stream.Flush();
        _socket.Shutdown(SocketShutdown.Send);
        var lines = new List<string>();
        while (ReadLine() is { } line) lines.Add(line);
        return lines;
    }

    public void Dispose()
    {
        _stream.Dispose();
        _socket.Dispose();
    }

    private string? ReadLine()
    {
        var line = new StringBuilder();
        while (true)
        {
            int c = _stream.ReadByte();
            if (c < 0) return line.Length == 0 ? null : line.ToString();
            if (c == '\n') return line.ToString().TrimEnd('\r');
            line.Append((char)c);
        }
    }
}
