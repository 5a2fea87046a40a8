using System.Diagnostics;
using System.Text;

namespace RedisClone.Lua.Tests;

/// <summary>Runs PUC Lua 5.1 (the Debian package lua5.1) as the reference.</summary>
internal static class RealLua
{
    private const string Path = "/usr/bin/lua5.1";

    /// <summary>Runs a program from standard input. Returns its output and the first line of its error.</summary>
    public static string Run(string program)
    {
        if (!File.Exists(Path)) throw new InvalidOperationException($"{Path} is missing: install the package lua5.1.");
        using Process process = Process.Start(new ProcessStartInfo(Path, "-")
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            StandardInputEncoding = Encoding.Latin1,
            StandardOutputEncoding = Encoding.Latin1,
            StandardErrorEncoding = Encoding.Latin1,
        })!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        process.StandardInput.Write(program);
        process.StandardInput.Close();
        if (!process.WaitForExit(60_000))
        {
            process.Kill();
            throw new TimeoutException("lua5.1 did not end.");
        }
        string message = error.Result;
        int traceback = message.IndexOf("stack traceback:", StringComparison.Ordinal);
        if (traceback >= 0) message = message[..traceback];
        return output.Result + message.Replace("/usr/bin/lua5.1: ", "lua: ", StringComparison.Ordinal);
    }
}
