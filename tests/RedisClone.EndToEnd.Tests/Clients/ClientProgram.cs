using System.Diagnostics;
using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>A client program that runs in a process of its own.</summary>
internal sealed class ClientProgram : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(5);

    private readonly Process _process;
    private readonly StringBuilder _output = new();
    private readonly CancellationTokenSource _patience = new(s_patience);

    public ClientProgram(string program, params IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = Folder,
        };
        start.Environment["TERM"] = "xterm";
        start.Environment["REDISCLI_HISTFILE"] = "/dev/null";
        start.Environment["REDISCLI_RCFILE"] = "/dev/null";
        _process = InstalledProgram.Start(start, program);
    }

    /// <summary>The folder tests/clients, which contains the scripts and their packages.</summary>
    private static string Folder => Path.GetFullPath(Path.Combine(AppContext.BaseDirectory, "../../../../clients"));

    public async Task Write(string text)
    {
        await _process.StandardInput.WriteAsync(text.AsMemory(), _patience.Token);
        await _process.StandardInput.FlushAsync(_patience.Token);
    }

    /// <summary>Reads the output up to a text, and returns the output before this text.</summary>
    public async Task<string> ReadUntil(string text)
    {
        var part = new char[1];
        var read = new StringBuilder();
        while (!read.ToString().EndsWith(text, StringComparison.Ordinal))
        {
            if (await ReadAsync(part) == 0) throw new EndOfStreamException($"the output does not contain {text}:\n{_output}{read}");
            read.Append(part[0]);
        }
        _output.Append(read);
        return read.ToString(0, read.Length - text.Length);
    }

    /// <summary>Writes the remaining input and returns the complete output. The program must exit with status 0.</summary>
    public async Task<string> Finish(byte[]? input = null)
    {
        Task<string> errors = _process.StandardError.ReadToEndAsync(_patience.Token);
        Task<string> output = _process.StandardOutput.ReadToEndAsync(_patience.Token);
        if (input is not null) await _process.StandardInput.BaseStream.WriteAsync(input, _patience.Token);
        _process.StandardInput.Close();
        string all = await output + await errors;
        await _process.WaitForExitAsync(_patience.Token);
        Assert.True(_process.ExitCode == 0, all);
        return all;
    }

    /// <summary>Reads a part of the output. Returns 0 at its end, or if the program writes nothing for too long.</summary>
    private async ValueTask<int> ReadAsync(char[] part)
    {
        try
        {
            return await _process.StandardOutput.ReadAsync(part, _patience.Token);
        }
        catch (OperationCanceledException)
        {
            return 0;
        }
    }

    public void Dispose()
    {
        if (!_process.HasExited) _process.Kill(entireProcessTree: true);
        _process.Dispose();
        _patience.Dispose();
    }
}
