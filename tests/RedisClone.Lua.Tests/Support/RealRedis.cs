using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Lua.Tests;

/// <summary>
/// Runs a redis-server on a unix socket as the reference for functions that Lua itself does not have.
/// </summary>
public sealed class RealRedis : IDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("lua-tests-");
    private readonly Process _process;
    private readonly NetworkStream _stream;

    public RealRedis()
    {
        string socket = Path.Combine(_directory.FullName, "s");
        _process = Process.Start(new ProcessStartInfo(
            "/usr/bin/redis-server", ["--port", "0", "--unixsocket", socket, "--save", ""])
        {
            RedirectStandardOutput = true,
            WorkingDirectory = _directory.FullName,
        })!;
        _process.OutputDataReceived += (_, _) => { };
        _process.BeginOutputReadLine();
        var client = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        for (int i = 0; ; i++)
        {
            try
            {
                client.Connect(new UnixDomainSocketEndPoint(socket));
                break;
            }
            catch (SocketException) when (i < 2400)
            {
                Thread.Sleep(25);
            }
        }
        _stream = new NetworkStream(client, ownsSocket: true);
    }

    /// <summary>Returns the result of a script: a string or its error.</summary>
    public string Eval(string script)
    {
        byte[] body = Encoding.Latin1.GetBytes(script);
        _stream.Write(Encoding.Latin1.GetBytes($"*3\r\n$4\r\nEVAL\r\n${body.Length}\r\n"));
        _stream.Write(body);
        _stream.Write("\r\n$1\r\n0\r\n"u8);
        string line = ReadLine();
        if (line[0] != '$') return line;
        byte[] reply = new byte[int.Parse(line[1..], CultureInfo.InvariantCulture) + 2];
        _stream.ReadExactly(reply);
        return Encoding.Latin1.GetString(reply, 0, reply.Length - 2);
    }

    public void Dispose()
    {
        _stream.Dispose();
        _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
        _directory.Delete(recursive: true);
    }

    private string ReadLine()
    {
        var text = new StringBuilder();
        for (int c = _stream.ReadByte(); c != '\r'; c = _stream.ReadByte()) text.Append((char)c);
        _stream.ReadByte();
        return text.ToString();
    }
}
