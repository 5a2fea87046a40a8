using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using RedisClone.Protocol;

namespace RedisClone.Server.Net;

/// <summary>Where the transport hands a new connection to the server.</summary>
internal sealed class RedisConnectionHandler(ServerCore server) : ConnectionHandler
{
    private readonly RequestLimits _limits = new()
    {
        MaxBulkLength = server.Config.ProtoMaxBulkLen,
        MaxBatchRequests = Limits.BatchRequests,
    };

    public override async Task OnConnectedAsync(ConnectionContext transport)
    {
        IConnectionScheduler scheduler = transport.Features.Get<IConnectionScheduler>() ?? PoolScheduler.Instance;
        var connection = new Connection(server, transport, scheduler, _limits);
        server.Sessions.Add(connection.Session);
        try
        {
            await connection.RunAsync();
        }
        catch (Exception e) when (e is ConnectionResetException or ConnectionAbortedException or OperationCanceledException or IOException)
        {
            server.Log.LogDebug("Client {Client} closed its connection: {Reason}", connection.Session.Id, e.Message);
        }
        finally
        {
            await connection.LeaveAsync();
            server.Sessions.Remove(connection.Session);
        }
    }
}
