using System.Collections;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;

namespace RedisClone.Server;

/// <summary>The server as a process of its own: command line in, exit code out.</summary>
internal static class Program
{
    internal static async Task<int> Main(string[] args)
    {
        SignalLifetime.HeedInterrupts();
        // Read before the first socket exists: completions run on the thread that polled them, never on another.
        Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS", "1");

        IDictionary environment = Environment.GetEnvironmentVariables();
        // Console.Out would first have a look at the terminal, as long as the whole configuration takes.
        using var output = new StreamWriter(Console.OpenStandardOutput()) { AutoFlush = true };
        int? done = OfflineCommands.TryRun(args, environment, output) ?? HealthCheck.TryRun(args, environment, output) ?? ReferencePages.TryRun(args, output);
        if (done is { } exitCode) return exitCode;

        ConfigLoad load = ServerConfig.Load(args, environment);
        if (load.Text.Length > 0) (load.ExitCode == 0 ? output : Console.Error).Write(load.Text);
        if (load.Config is not { } config) return load.ExitCode;

        var log = new RedisLog(config);
        Fatal.OwnProcess(log);
        WebApplication host = Hosting.Build(config, log: log);
        var run = new ServerRun(host);
        foreach (string warning in load.Warnings) run.Core.Log.LogWarning("{Warning}", warning);
        run.Core.Log.LogInformation("RedisClone is starting. PID: {Pid}", Environment.ProcessId);
        if (await run.StartAsync() is not null) return run.Core.Shutdown.HasBegun ? 0 : 1;
        host.Services.GetRequiredService<ProcessPresence>().Ready();
        await run.EndAsync();
        return 0;
    }
}
