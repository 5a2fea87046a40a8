using System.Collections;
using System.Diagnostics;
using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using RedisClone.Server.Support;
using RedisClone.Configuration;

namespace RedisClone.Server.Programs;

/// <summary>
/// <c>support-bundle [OPTIONS] FILE</c>: asks a server for its support bundle and writes it to a file. With <c>--pid</c>, it makes the
/// bundle of a process on this machine without asking the server, for one that does not answer.
/// </summary>
internal sealed class SupportProgram
{
    private const int Written = 0, Failed = 1;

    public const string Usage =
        """
               RedisClone.Server support-bundle [OPTIONS] FILE (write what a running server reports about itself to a zip, without keys and values)
                   --host HOST --port PORT or --socket PATH, --user USER --pass PASSWORD (or the variable REDISCLI_AUTH), --tls --cacert FILE,
                   or --pid PID for a process on this machine that does not answer

        """;

    /// <summary>Longer than the slowest parts of a bundle together.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(120);

    private readonly Dictionary<string, string> _options;

    private SupportProgram(Dictionary<string, string> options) => _options = options;

    /// <summary>Runs the command in the arguments. Returns the exit code, or null for the arguments of a server.</summary>
    public static int? TryRun(IReadOnlyList<string> args, IDictionary environment, TextWriter output)
    {
        if (args is not ["support-bundle", ..]) return null;
        if (TryParse(args, out Dictionary<string, string> options, out string file) is { } problem)
        {
            if (problem.Length > 0) output.WriteLine(problem);
            output.Write(ProgramName.In("Usage:\n" + Usage));
            return problem.Length == 0 ? Written : Failed;
        }
        if (!options.ContainsKey("--pass") && environment["REDISCLI_AUTH"] is string { Length: > 0 } password) options["--pass"] = password;
        try
        {
            byte[] bundle = options.TryGetValue("--pid", out string? process)
                ? OfProcess(int.Parse(process, CultureInfo.InvariantCulture)) : new SupportProgram(options).Ask();
            if (ReplacedFile.Write(Path.GetFullPath(file), () => bundle) is { } failure) throw new IOException($"{file}: {failure}");
            output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{file}: {bundle.Length} bytes. Its {Bundle.Readme} says what is in it."));
            return Written;
        }
        catch (Exception failure) when (failure is IOException or SocketException or AuthenticationException or ArgumentException)
        {
            output.WriteLine(failure.Message);
            if (!options.ContainsKey("--pid")) output.WriteLine("For a server on this machine that does not answer, use --pid.");
            return Failed;
        }
    }

    /// <summary>Returns null, or the problem; an empty one if the usage is asked for.</summary>
    private static string? TryParse(IReadOnlyList<string> args, out Dictionary<string, string> options, out string file)
    {
        options = new Dictionary<string, string>(StringComparer.Ordinal);
        file = "";
        for (int i = 1; i < args.Count; i++)
        {
            switch (args[i])
            {
                case "-h" or "--help":
                    return "";
                case "--tls":
                    options["--tls"] = "";
                    break;
                case "--host" or "--port" or "--socket" or "--user" or "--pass" or "--cacert" or "--pid" when i + 1 < args.Count:
                    options[args[i]] = args[++i];
                    break;
                case var word when word.StartsWith('-'):
                    return $"{word} is no option, or lacks its value.";
                default:
                    if (file.Length > 0) return $"{args[i]}: only one file.";
                    file = args[i];
                    break;
            }
        }
        foreach (string number in new[] { "--port", "--pid" })
            if (options.TryGetValue(number, out string? text) && !int.TryParse(text, CultureInfo.InvariantCulture, out _))
                return $"{number} {text}: this is no number.";
        return file.Length == 0 ? "The name of the file is missing." : null;
    }

    /// <summary>Throws <see cref="ArgumentException"/> if there is no such process.</summary>
    private static byte[] OfProcess(int id)
    {
        using var process = Process.GetProcessById(id);
        return SupportBundle.OfProcess(id);
    }

    private byte[] Ask()
    {
        using Stream stream = Connect();
        if (_options.TryGetValue("--pass", out string? password))
            Expect(stream, _options.TryGetValue("--user", out string? user) ? ["AUTH", user, password] : ["AUTH", password], '+');
        string length = Expect(stream, ["SUPPORT-BUNDLE"], '$');
        byte[] bundle = new byte[int.Parse(length, CultureInfo.InvariantCulture)];
        stream.ReadExactly(bundle);
        return bundle;
    }

    private Stream Connect()
    {
        string host = _options.GetValueOrDefault("--host", "127.0.0.1");
        int port = int.Parse(_options.GetValueOrDefault("--port", "6379"), CultureInfo.InvariantCulture);
        Socket socket;
        if (_options.TryGetValue("--socket", out string? path))
        {
            socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            socket.Connect(new UnixDomainSocketEndPoint(path));
        }
        else
        {
            socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            socket.Connect(host, port);
        }
        socket.ReceiveTimeout = socket.SendTimeout = (int)Patience.TotalMilliseconds;
        var plain = new NetworkStream(socket, ownsSocket: true);
        if (!_options.ContainsKey("--tls") && !_options.ContainsKey("--cacert")) return plain;
        var tls = new SslStream(plain);
        var options = new SslClientAuthenticationOptions { TargetHost = host };
        if (_options.TryGetValue("--cacert", out string? authority))
        {
            options.CertificateChainPolicy = new X509ChainPolicy
            {
                TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck,
            };
            options.CertificateChainPolicy.CustomTrustStore.ImportFromPemFile(authority);
        }
        tls.AuthenticateAsClient(options);
        return tls;
    }

    /// <summary>Sends a command and returns the first line of its reply without its type.</summary>
    private static string Expect(Stream stream, string[] words, char type)
    {
        var request = new MemoryStream();
        request.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*{words.Length}\r\n")));
        foreach (byte[] word in words.Select(Encoding.UTF8.GetBytes))
        {
            request.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"${word.Length}\r\n")));
            request.Write(word);
            request.Write("\r\n"u8);
        }
        stream.Write(request.ToArray());
        var line = new List<byte>();
        for (int next; (next = stream.ReadByte()) != '\n';)
        {
            if (next < 0) throw new IOException("The server closed the connection.");
            line.Add((byte)next);
        }
        string reply = Encoding.UTF8.GetString([.. line]).TrimEnd('\r');
        return reply.Length > 0 && reply[0] == type ? reply[1..] : throw new IOException($"The server answers: {reply.TrimStart('-')}");
    }
}
