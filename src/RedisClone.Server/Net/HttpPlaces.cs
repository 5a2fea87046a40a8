using Microsoft.AspNetCore.Connections;

namespace RedisClone.Server.Net;

/// <summary>
/// Limits the connections of an HTTP port. One that waits for a request or for its body may lose its place to a new one, so that clients
/// that keep their connections cannot lock out a health check. The place is a feature of the connection.
/// </summary>
internal sealed class HttpPlaces(int places)
{
    private readonly ConnectionPlaces _places = new(places);

    public ConnectionDelegate Limit(ConnectionDelegate next) => async connection =>
    {
        if (!_places.TryTake(connection, out ConnectionPlaces.Place? place, out ConnectionContext? former))
        {
            connection.Abort(new ConnectionAbortedException("too many requests to the HTTP port"));
            return;
        }
        former?.Abort(new ConnectionAbortedException("a newer connection to the HTTP port takes the place"));
        connection.Features.Set(place);
        try
        {
            await next(connection);
        }
        finally
        {
            place.Return();
        }
    };
}
