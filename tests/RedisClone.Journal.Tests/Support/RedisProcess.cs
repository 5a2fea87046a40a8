using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Journal.Tests.Support;

/// <summary>A temporary directory for one test, which is deleted afterwards.</summary>
public sealed class TemporaryDirectory : IDisposable
{
    public string Path { get; } = Directory.CreateTempSubdirectory("redisclone-journal-").FullName;

    public void Dispose() => Directory.Delete(Path, recursive: true);
}

/// <summary>Runs the real redis-server on a directory, and redis-check-aof.</summary>
public sealed class RedisProcess : IDisposable
{
    private readonly Process _process;
    private readonly TcpClient _client;
    private readonly NetworkStream _stream;

    private RedisProcess(Process process, TcpClient client)
    {
        _process = process;
        _client = client;
        _stream = client.GetStream();
    }

    public static RedisProcess Start(string directory, params string[] arguments)
    {
        var port = Ports.Free();
        var start = new ProcessStartInfo("/usr/bin/redis-server") { RedirectStandardOutput = true, WorkingDirectory = directory };
        string[] all =
        [
            "--port", port.ToString(null, null), "--bind", "127.0.0.1", "--dir", directory, "--save", "",
            "--logfile", "redis.log", "--enable-debug-command", "yes", .. arguments,
        ];
        foreach (var argument in all)
            start.ArgumentList.Add(argument);
        var process = Process.Start(start)!;
        for (var attempt = 0; attempt < 2400 && !process.HasExited; attempt++)
        {
            try
            {
                var client = new TcpClient();
                client.Connect(IPAddress.Loopback, port);
                var redis = new RedisProcess(process, client);
                while (redis.Command("PING").StartsWith("-LOADING", StringComparison.Ordinal)) Thread.Sleep(10);
                return redis;
            }
            catch (Exception error) when (error is SocketException or IOException)
            {
                Thread.Sleep(25);
            }
        }
        throw new InvalidOperationException(
            "redis-server does not start: " + File.ReadAllText(System.IO.Path.Combine(directory, "redis.log")));
    }

    /// <summary>Runs a Redis tool to its end. Returns its exit code and output.</summary>
    public static (int ExitCode, string Output) Tool(string name, params string[] arguments)
    {
        var start = new ProcessStartInfo("/usr/bin/" + name) { RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (var argument in arguments) start.ArgumentList.Add(argument);
        using var process = Process.Start(start)!;
        var output = process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd();
        process.WaitForExit();
        return (process.ExitCode, output);
    }

    /// <summary>Sends one command and returns a simple reply (status, error, integer or string) as Latin-1.</summary>
    public string Command(params string[] words) => Command(words.Select(Encoding.Latin1.GetBytes).ToArray());

    public string Command(params byte[][] words)
    {
        _stream.Write([.. Encoding.ASCII.GetBytes($"*{words.Length}\r\n"), .. words.SelectMany(Units.Bulk)]);
        var line = ReadLine();
        if (line.StartsWith("$-1", StringComparison.Ordinal)) return "(nil)";
        if (line[0] != '$') return line;
        var bytes = new byte[int.Parse(line.AsSpan(1), null) + 2];
        _stream.ReadExactly(bytes);
        return Encoding.Latin1.GetString(bytes.AsSpan(0, bytes.Length - 2));
    }

    /// <summary>
    /// Returns the rest of a reply whose first line <see cref="Command(string[])"/> has read: everything before the
    /// reply to a PING.
    /// </summary>
    public string ReadRest()
    {
        const string end = "$13\r\nend-of-a-rest\r\n";
        _stream.Write(Units.Command("PING", "end-of-a-rest"));
        var rest = new StringBuilder();
        while (!rest.ToString().EndsWith(end, StringComparison.Ordinal))
        {
            var buffer = new byte[65536];
            var read = _stream.Read(buffer);
            if (read == 0) throw new IOException("redis-server closed the connection");
            rest.Append(Encoding.Latin1.GetString(buffer.AsSpan(0, read)));
        }
        return rest.ToString(0, rest.Length - end.Length);
    }

    /// <summary>Shuts the server down and waits for its end.</summary>
    public void Shutdown()
    {
        _stream.Write(Units.Command("SHUTDOWN"));
        _process.WaitForExit();
    }

    public void Dispose()
    {
        _client.Dispose();
        if (!_process.HasExited) _process.Kill();
        _process.WaitForExit();
        _process.Dispose();
    }

    private string ReadLine()
    {
        var line = new StringBuilder();
        while (true)
        {
            var next = _stream.ReadByte();
            if (next < 0) throw new IOException("redis-server closed the connection");
            if (next == '\n') return line.ToString(0, line.Length - 1);
            line.Append((char)next);
        }
    }
}
