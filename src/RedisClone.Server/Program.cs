using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Server;
using RedisClone.Server.Admin;

// Read before the first socket exists: completions run on the thread that polled them, never on another.
Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS", "1");

ConfigLoad load = ServerConfig.Load(args, Environment.GetEnvironmentVariables());
if (load.Text.Length > 0) (load.ExitCode == 0 ? Console.Out : Console.Error).Write(load.Text);
if (load.Config is not { } config) return load.ExitCode;

WebApplication server = Hosting.Build(config);
var core = server.Services.GetRequiredService<ServerCore>();
var log = core.Log;
foreach (string warning in load.Warnings) log.LogWarning("{Warning}", warning);
log.LogInformation("RedisClone is starting. PID: {Pid}", Environment.ProcessId);
Console.WriteLine($" PID: {Environment.ProcessId}");
log.LogInformation("Server initialized");
if (core.LoadData() is { } refusal)
{
    log.LogCritical("{Refusal}", refusal);
    return 1;
}
try
{
    await server.StartAsync();
}
catch (IOException e)
{
    log.LogCritical("{Reason}", e.Message);
    return 1;
}
log.LogInformation("Ready to accept connections tcp");
await server.WaitForShutdownAsync();
if (core.Journal?.Stop() is { } failure) log.LogError("The journal could not be closed: {Failure}", failure);
return 0;
