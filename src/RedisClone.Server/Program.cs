using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedisClone.Server;
using RedisClone.Server.Admin;

// Read before the first socket exists: completions run on the thread that polled them, never on another.
Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS", "1");

if (OfflineCommands.TryRun(args, Console.Out) is { } exitCode) return exitCode;

ConfigLoad load = ServerConfig.Load(args, Environment.GetEnvironmentVariables());
if (load.Text.Length > 0) (load.ExitCode == 0 ? Console.Out : Console.Error).Write(load.Text);
if (load.Config is not { } config) return load.ExitCode;

WebApplication server = Hosting.Build(config);
var core = server.Services.GetRequiredService<ServerCore>();
var log = core.Log;
foreach (string warning in load.Warnings) log.LogWarning("{Warning}", warning);
log.LogInformation("RedisClone is starting. PID: {Pid}", Environment.ProcessId);
Console.WriteLine($" PID: {Environment.ProcessId}");
if (core.Prepare() is { } fault)
{
    log.LogCritical("{Fault}", fault);
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
// Who waits for this line connects at once; as long as data is being loaded, clients are told so.
log.LogInformation("Server initialized");
if (core.LoadData() is { } refusal)
{
    if (!core.Shutdown.HasBegun) log.LogCritical("{Refusal}", refusal);
    if (!core.Shutdown.HasBegun) log.LogCritical("Fatal error loading the DB, check server logs. Exiting.");
    await server.StopAsync();
    return core.Shutdown.HasBegun ? 0 : 1;
}
server.Services.GetRequiredService<ProcessPresence>().Ready();
log.LogInformation("Ready to accept connections tcp");
await server.WaitForShutdownAsync();
if (core.Journal?.Stop() is { } failure) log.LogError("The journal could not be closed: {Failure}", failure);
return 0;
