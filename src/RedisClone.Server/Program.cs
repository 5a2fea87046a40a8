using System.Collections;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using RedisClone.Admin.Log;
using RedisClone.Configuration;
using RedisClone.Engine.Failures;
using RedisClone.Server.Lifetime;
using RedisClone.Server.Programs;

namespace RedisClone.Server;

/// <summary>Runs the server as its own process: takes the command line, returns the exit code.</summary>
internal static class Program
{
    internal static async Task<int> Main(string[] args)
    {
        SignalLifetime.AcceptInterrupts();
        SignalLifetime.IgnoreWriteSignals();
        // The runtime reads this variable when it creates the first socket. It makes completions run on the thread that polled
        // them.
        Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS", "1");

        IDictionary environment = Environment.GetEnvironmentVariables();
        // Console.Out would query the terminal first, which takes as long as loading the configuration.
        using var output = new PlainOutput(StandardStream.Output);
        using var error = new PlainOutput(StandardStream.Error);
        int? done = OfflineCommands.TryRun(args, environment, output, error)
            ?? SupportProgram.TryRun(args, environment, output)
            ?? HealthCheck.TryRun(args, environment, output)
            ?? ReferencePages.TryRun(args, output)
            ?? ProgramOptions.TryRun(args, output, error);
        if (done is { } exitCode) return ExitCode(exitCode, output, error);

        ConfigLoad load = ServerConfig.Load(args, environment);
        if (load.Config is not { } config)
        {
            error.Write(load.Error);
            return 1;
        }

        var log = new RedisLog(config);
        FatalEnd.OwnProcess(log);
        try
        {
            return await ServeAsync(config, load.Warnings, log);
        }
        catch (Exception e)
        {
            // The runtime calls the handler of unhandled exceptions for other threads only.
            Fatal.End("The server ended with an exception that nothing handled", e);
            throw;
        }
    }

    /// <returns>The exit code.</returns>
    private static async Task<int> ServeAsync(ServerConfig config, IEnumerable<string> warnings, RedisLog log)
    {
        WebApplication host = Hosting.Build(config, log: log);
        var run = new ServerRun(host);
        foreach (string warning in warnings) run.Core.Log.LogWarning("{Warning}", warning);
        run.Core.Log.LogInformation("RedisClone is starting. PID: {Pid}", Environment.ProcessId);
        if (await run.StartAsync() is not null) return run.Core.Shutdown.HasBegun ? 0 : 1;
        host.Services.GetRequiredService<ProcessPresence>().Ready();
        await run.EndAsync();
        return 0;
    }

    /// <summary>Incomplete output, caused by a full disk or a closed pipe, turns success into a failure.</summary>
    private static int ExitCode(int code, PlainOutput output, PlainOutput error)
    {
        if (code != 0 || !output.HasFailed) return code;
        error.WriteLine("The output could not be written.");
        return 1;
    }
}
