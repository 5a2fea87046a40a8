using System.Buffers.Binary;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Server.Support;

/// <summary>
/// A short trace of the runtime of a process, in the format .nettrace: the managed stacks of all threads every 10 ms, garbage
/// collections, waits for locks, and the thread pool. The runtime writes it (EventPipe) and is asked through its diagnostic socket.
/// The two messages are all that is needed of Microsoft.Diagnostics.NETCore.Client, which is not made for compilation ahead of time.
/// Exceptions are left out, because their messages can quote data.
/// </summary>
internal static class EventTrace
{
    private const byte EventPipeCommands = 2, StopTracing = 1, CollectTracing = 3;
    private const byte ServerAnswers = 0xFF, Success = 0;
    private const int HeaderLength = 20, BufferMegabytes = 16, LongestTrace = 64 << 20;
    private const ulong Collector = 0x1, Loader = 0x8, Compiler = 0x10, Contention = 0x4000, Threading = 0x10000;
    private const uint Informational = 4;

    private static readonly TimeSpan Duration = TimeSpan.FromSeconds(1);
    private static readonly byte[] Magic = "DOTNET_IPC_V1\0"u8.ToArray();

    private static readonly (string Name, ulong Keywords)[] Providers =
    [
        ("Microsoft-DotNETCore-SampleProfiler", 0),
        ("Microsoft-Windows-DotNETRuntime", Collector | Loader | Compiler | Contention | Threading),
    ];

    /// <summary>How long a trace takes at most, with the names of the methods that follow it.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(15);

    /// <exception cref="IOException">The process has no trace; the message says why.</exception>
    public static void Write(int processId, Stream output)
    {
        string path = SocketOf(processId) ?? throw new IOException(
            "the runtime of the process has no diagnostic socket: it is the native executable, or DOTNET_EnableDiagnostics turns it off");
        using Socket trace = Connect(path);
        byte[] session = Ask(trace, CollectTracing, Request());
        using var stopper = new Timer(_ => Stop(path, session), null, Duration, Timeout.InfiniteTimeSpan);
        using var written = new MemoryStream();
        byte[] buffer = new byte[64 << 10];
        for (int read; (read = trace.Receive(buffer)) > 0; written.Write(buffer.AsSpan(0, read)))
            if (written.Length > LongestTrace) throw new IOException("the trace became too long");
        Span<byte> all = written.GetBuffer().AsSpan(0, (int)written.Length);
        HideArguments(all, File.ReadAllText($"/proc/{processId}/cmdline")[..^1].Split('\0'));
        output.Write(all);
    }

    /// <summary>
    /// Overwrites the arguments of the process, which can contain passwords: the runtime writes its command line into every trace. A
    /// trace in which they are not found is not used.
    /// </summary>
    private static void HideArguments(Span<byte> trace, string[] words)
    {
        // The words of the command line are joined with blanks. The first of them is the program, and the second may be its assembly.
        bool isFound = words.Length == 1;
        for (int first = 1; first < Math.Min(words.Length, 3); first++)
        {
            byte[] arguments = Encoding.Unicode.GetBytes(' ' + string.Join(' ', words[first..]) + '\0');
            byte[] hidden = Encoding.Unicode.GetBytes(new string('.', (arguments.Length / 2) - 1) + '\0');
            for (int at; (at = trace.IndexOf(arguments)) >= 0; isFound = true) hidden.CopyTo(trace[at..]);
        }
        if (!isFound) throw new IOException("the command line in the trace was not found, so it could not be hidden");
    }

    /// <summary>
    /// The diagnostic socket of a process. The start time of the process is in its name, so the socket that a killed process with the
    /// same id left behind has another one.
    /// </summary>
    private static string? SocketOf(int processId)
    {
        const int startTime = 22;
        string started = ProcStat.Fields(File.ReadAllText($"/proc/{processId}/stat"))[startTime - ProcStat.First];
        string path = Path.Combine(Path.GetTempPath(), $"dotnet-diagnostic-{processId}-{started}-socket");
        return File.Exists(path) ? path : null;
    }

    private static void Stop(string path, byte[] session)
    {
        try
        {
            using Socket socket = Connect(path);
            Ask(socket, StopTracing, session);
        }
        catch (Exception failure) when (failure is IOException or SocketException)
        {
            // The trace has ended by itself.
        }
    }

    private static Socket Connect(string path)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
        {
            ReceiveTimeout = (int)Patience.TotalMilliseconds, SendTimeout = (int)Patience.TotalMilliseconds,
        };
        try
        {
            socket.Connect(new UnixDomainSocketEndPoint(path));
            return socket;
        }
        catch (SocketException failure)
        {
            socket.Dispose();
            throw new IOException(failure.Message, failure);
        }
    }

    /// <summary>Sends a message and returns the content of the answer, which is the number of the session.</summary>
    private static byte[] Ask(Socket socket, byte command, byte[] content)
    {
        byte[] message = new byte[HeaderLength + content.Length];
        Magic.CopyTo(message, 0);
        BinaryPrimitives.WriteUInt16LittleEndian(message.AsSpan(Magic.Length), (ushort)message.Length);
        (message[16], message[17]) = (EventPipeCommands, command);
        content.CopyTo(message, HeaderLength);
        socket.Send(message);
        byte[] header = Receive(socket, HeaderLength);
        byte[] answer = Receive(socket, BinaryPrimitives.ReadUInt16LittleEndian(header.AsSpan(Magic.Length)) - HeaderLength);
        if (header[16] == ServerAnswers && header[17] == Success) return answer;
        throw new IOException("the runtime refuses the trace");
    }

    private static byte[] Receive(Socket socket, int length)
    {
        byte[] bytes = new byte[length];
        for (int read = 0; read < length;)
        {
            int more = socket.Receive(bytes.AsSpan(read));
            if (more == 0) throw new IOException("the runtime closed the connection");
            read += more;
        }
        return bytes;
    }

    private static byte[] Request()
    {
        using var bytes = new MemoryStream();
        using var writer = new BinaryWriter(bytes);
        const uint netTrace = 1;
        writer.Write((uint)BufferMegabytes);
        writer.Write(netTrace);
        writer.Write(true);     // with the names of the methods
        writer.Write((uint)Providers.Length);
        foreach ((string name, ulong keywords) in Providers)
        {
            writer.Write(keywords);
            writer.Write(Informational);
            Write(writer, name);
            Write(writer, "");
        }
        return bytes.ToArray();
    }

    private static void Write(BinaryWriter writer, string text)
    {
        writer.Write((uint)text.Length + 1);
        writer.Write(Encoding.Unicode.GetBytes(text + '\0'));
    }
}
