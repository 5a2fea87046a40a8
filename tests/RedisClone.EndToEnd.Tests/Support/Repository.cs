using System.Diagnostics;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>The repository of the tests, and the programs in it.</summary>
internal static class Repository
{
    public static string Root { get; } = Path.GetFullPath(Path.Combine(AppContext.BaseDirectory, "../../../../.."));

    public static string PathOf(string path) => Path.Combine(Root, path);

    /// <summary>Runs a program in the root of the repository until it exits. Returns its exit code and its output.</summary>
    public static Task<(int Code, string Output)> RunAsync(string program, params IEnumerable<string> arguments) => RunAsync(program, arguments, []);

    public static async Task<(int Code, string Output)> RunAsync(
        string program, IEnumerable<string> arguments, IEnumerable<KeyValuePair<string, string>> environment)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = Root,
        };
        foreach ((string name, string value) in environment) start.Environment[name] = value;
        using Process process = Process.Start(start)!;
        process.StandardInput.Close();
        using var patience = new CancellationTokenSource(TimeSpan.FromMinutes(10));
        try
        {
            Task<string> errors = process.StandardError.ReadToEndAsync(patience.Token);
            string output = await process.StandardOutput.ReadToEndAsync(patience.Token);
            await process.WaitForExitAsync(patience.Token);
            return (process.ExitCode, output + await errors);
        }
        catch (OperationCanceledException)
        {
            process.Kill(entireProcessTree: true);
            throw;
        }
    }
}
