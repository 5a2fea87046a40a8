using System.Collections;
using System.Net;
using System.Net.Sockets;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Server.Net.Listening;

namespace RedisClone.Server.Programs;

/// <summary>
/// <c>health PID</c>: the health check for containers. It connects to the server that runs as the given process, at the address
/// in the arguments of that process. Any reply, even an error such as LOADING or NOAUTH, means that the server is alive. A
/// configured password is sent first, because each check would otherwise count as an error reply. A server that has only a TLS
/// port is alive if it accepts the connection.
/// </summary>
internal static class HealthCheck
{
    private const int Healthy = 0, Unhealthy = 1;

    public const string Usage =
        """
               RedisClone.Server health PID (ask the server with this process ID; exit code 0: it answers)

        """;

    /// <summary>
    /// Runs the health check if the arguments request it. Returns the exit code, or null for the arguments of a server.
    /// </summary>
    public static int? TryRun(IReadOnlyList<string> args, IDictionary environment, TextWriter output)
    {
        if (args is not ["health", ..]) return null;
        if (args is not ["health", var process] || process is "-h" or "--help")
        {
            output.Write(ProgramName.In("Usage:\n" + Usage));
            return args.Count == 2 ? Healthy : Unhealthy;
        }
        (bool lives, string text) = Check(process, environment);
        output.WriteLine(text);
        return lives ? Healthy : Unhealthy;
    }

    private static (bool Lives, string Text) Check(string process, IDictionary environment)
    {
        try
        {
            string[] words = File.ReadAllText($"/proc/{process}/cmdline").TrimEnd('\0').Split('\0');
            // With docker's --init, the first process is another program, and the server's command line follows its own.
            int own = Array.FindIndex(words, static word => Path.GetFileName(word) == Path.GetFileName(Environment.ProcessPath));
            if (ServerConfig.Load(words[(Math.Max(own, 0) + 1)..], environment, static () => Stream.Null).Config is not { } config)
                return (false, "its arguments are those of no server");
            return AddressOf(config, out string problem) is { } address ? Ask(address, config) : (false, $"it listens on no address. {problem}");
        }
        catch (Exception error) when (error is SocketException or IOException or UnauthorizedAccessException)
        {
            return (false, error.Message);
        }
    }

    private static (bool Lives, string Text) Ask(EndPoint address, ServerConfig config)
    {
        using var socket = new Socket(address.AddressFamily, SocketType.Stream, address is IPEndPoint ? ProtocolType.Tcp : ProtocolType.Unspecified);
        socket.SendTimeout = socket.ReceiveTimeout = (int)Limits.HealthPatience.TotalMilliseconds;
        socket.Connect(address);
        if (IsTls(config)) return (true, "takes TLS connections");
        using var stream = new NetworkStream(socket);
        using var replies = new StreamReader(stream);
        string? reply = "";
        if (config.RequirePass.Length > 0)
        {
            byte[] password = Encoding.UTF8.GetBytes(config.RequirePass);
            stream.Write([.. Encoding.ASCII.GetBytes($"*2\r\n$4\r\nAUTH\r\n${password.Length}\r\n"), .. password, .. "\r\n"u8]);
            reply = replies.ReadLine();
        }
        if (reply is not null)
        {
            stream.Write("PING\r\n"u8);
            reply = replies.ReadLine();
        }
        return reply is null ? (false, "the connection was closed without an answer") : (true, reply);
    }

    private static EndPoint? AddressOf(ServerConfig config, out string problem)
    {
        problem = "";
        if (config.Port == 0 && config.UnixSocket.Length > 0) return new UnixDomainSocketEndPoint(config.PathOf(config.UnixSocket));
        int port = IsTls(config) ? config.TlsPort : config.Port;
        if (TcpAddresses.Resolve(config.Bind, port, out problem) is not [var first, ..]) return null;
        IPAddress address = first.EndPoint.Address;
        return address.Equals(IPAddress.Any) ? new IPEndPoint(IPAddress.Loopback, port)
            : address.Equals(IPAddress.IPv6Any) ? new IPEndPoint(IPAddress.IPv6Loopback, port) : first.EndPoint;
    }

    private static bool IsTls(ServerConfig config) => config.Port == 0 && config.UnixSocket.Length == 0;
}
