using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>The effect of signals on a server, also if a shell starts it with some signals ignored.</summary>
public sealed class SignalTests : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(1);

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-signals-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData("", "INT")]
    [InlineData("trap '' INT;", "INT")]
    [InlineData("", "TERM")]
    [InlineData("", "HUP", "TERM")]
    [InlineData("trap '' HUP;", "HUP", "TERM")]
    public void TheServerShutsDownCleanly(string before, params string[] signals)
    {
        string[] arguments =
            ["-c", $"{before} exec \"$0\" \"$@\"", ServerProcess.OurProgram, "--port", "0", "--dir", _folder, "--save", ""];
        using Process server = Process.Start(new ProcessStartInfo("/bin/sh", arguments) { RedirectStandardOutput = true })!;
        try
        {
            string? line;
            do line = server.StandardOutput.ReadLine();
            while (line is not null && !line.Contains("Ready to accept connections", StringComparison.Ordinal));
            Assert.NotNull(line);
            foreach (string signal in signals)
            {
                using Process kill = Process.Start("kill", [$"-{signal}", $"{server.Id}"]);
                kill.WaitForExit();
            }
            Assert.True(server.WaitForExit(s_patience), $"SIG{signals[^1]} does not end it");
            Assert.Contains($"Received SIG{signals[^1]} scheduling shutdown...", server.StandardOutput.ReadToEnd(), StringComparison.Ordinal);
            Assert.Equal(0, server.ExitCode);
        }
        finally
        {
            if (!server.HasExited) server.Kill();
        }
    }
}
