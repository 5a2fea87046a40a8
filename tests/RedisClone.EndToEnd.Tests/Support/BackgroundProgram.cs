using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>An installed program that serves a port until the test ends.</summary>
internal sealed class BackgroundProgram : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(1);

    private readonly Process _process;
    private readonly StringBuilder _output = new();

    public BackgroundProgram(int port, string program, params IEnumerable<string> arguments)
    {
        // Debian installs servers in /usr/sbin, which may be missing in the path of a user.
        var start = new ProcessStartInfo("/usr/bin/env", [$"PATH={Environment.GetEnvironmentVariable("PATH")}:/usr/sbin", program, .. arguments])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        _process = InstalledProgram.Start(start, program);
        _process.OutputDataReceived += OnLine;
        _process.ErrorDataReceived += OnLine;
        _process.BeginOutputReadLine();
        _process.BeginErrorReadLine();
        for (long begun = Stopwatch.GetTimestamp(); !IsListening(port); Thread.Sleep(20))
        {
            if (!_process.HasExited && Stopwatch.GetElapsedTime(begun) < s_patience) continue;
            Dispose();
            throw new InvalidOperationException($"{program} does not listen on port {port}:\n{_output}");
        }
    }

    public void Dispose()
    {
        if (!_process.HasExited) _process.Kill(entireProcessTree: true);
        _process.WaitForExit();
        _process.Dispose();
    }

    private static bool IsListening(int port)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Connect(IPAddress.Loopback, port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    private void OnLine(object sender, DataReceivedEventArgs line)
    {
        lock (_output) _output.Append(line.Data).Append('\n');
    }
}
