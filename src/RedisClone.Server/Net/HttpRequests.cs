using Microsoft.AspNetCore.Http;
using RedisClone.Engine;
using RedisClone.Server.Studio;

namespace RedisClone.Server.Net;

/// <summary>Answers the requests of the metrics port and of the HTTP port.</summary>
internal sealed class HttpRequests(ServerCore server, MetricsEndpoint metrics, StudioEndpoint studio)
{
    public async Task AnswerAsync(HttpContext context)
    {
        // The answer is made on another thread, because this one also receives the bytes of other connections.
        await Task.Yield();
        ConnectionPlaces.Place? place = context.Features.Get<ConnectionPlaces.Place>();
        place?.BeginAnswer();
        // From its first byte on, the answer waits for the client, which may not take it.
        if (place is not null)
        {
            context.Response.OnStarting(static place =>
            {
                ((ConnectionPlaces.Place)place).EndAnswer();
                return Task.CompletedTask;
            }, place);
        }
        try
        {
            MetricsEndpoint.CloseWithUnreadBody(context);
            await (StudioEndpoint.IsFor(context) ? studio.AnswerAsync(context, metrics) : metrics.AnswerAsync(context));
        }
        catch (Exception failure) when (failure is not BadHttpRequestException && !context.RequestAborted.IsCancellationRequested)
        {
            server.Failures.WorkFailed("A request to the HTTP port could not be answered", failure);
            if (context.Response.HasStarted)
            {
                context.Abort();
            }
            else
            {
                context.Response.Clear();
                context.Response.StatusCode = StatusCodes.Status500InternalServerError;
            }
        }
        finally
        {
            place?.EndAnswer();
        }
    }
}
