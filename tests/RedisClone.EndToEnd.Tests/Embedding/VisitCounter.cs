using System.Diagnostics;
using System.Text;
using System.Text.RegularExpressions;

namespace RedisClone.EndToEnd.Tests.Embedding;

/// <summary>
/// Uses the sample as its users do: it counts visits, other clients can use its server, and SIGTERM ends it with status 0.
/// </summary>
internal static partial class VisitCounter
{
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(2);

    public static async Task TryAsync(string program, params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(program, [.. arguments, "--urls", "http://127.0.0.1:0"]) { RedirectStandardOutput = true })!;
        try
        {
            var output = new StringBuilder();
            string address = await FindAsync(process, output, Address());
            string port = await FindAsync(process, output, Port());
            using var browser = new HttpClient { Timeout = Patience };
            Assert.Equal("visit 1", await browser.GetStringAsync(new Uri(address)));
            Assert.Equal("visit 2", await browser.GetStringAsync(new Uri(address)));
            using (var client = new Support.RespClient(int.Parse(port))) client.Expect("$\"2\"", "GET", "visits");
            using Process kill = Process.Start("kill", ["-TERM", $"{process.Id}"]);
            output.Append(await process.StandardOutput.ReadToEndAsync().WaitAsync(Patience));
            await process.WaitForExitAsync().WaitAsync(Patience);
            Assert.True(process.ExitCode == 0, output.ToString());
        }
        finally
        {
            if (!process.HasExited) process.Kill();
        }
    }

    private static async Task<string> FindAsync(Process process, StringBuilder output, Regex what)
    {
        while (true)
        {
            if (what.Match(output.ToString()) is { Success: true } found) return found.Groups[1].Value;
            string line = await process.StandardOutput.ReadLineAsync().WaitAsync(Patience)
                ?? throw new InvalidOperationException($"The sample ended:\n{output}");
            output.AppendLine(line);
        }
    }

    [GeneratedRegex(@"Now listening on: (http://\S+)")]
    private static partial Regex Address();

    [GeneratedRegex(@"redis-cli -p (\d+) get visits")]
    private static partial Regex Port();
}
