using Microsoft.AspNetCore.Connections;

namespace RedisClone.Server.Net;

/// <summary>
/// The connections of an HTTP port, of which there are only some at a time. If all places are taken, a new connection takes the place of
/// the one that has waited longest for a request, so that clients that keep their connections cannot lock out a health check.
/// </summary>
internal sealed class HttpPlaces(int places)
{
    private readonly Lock _gate = new();

    /// <summary>The connections without a request begin with the one that has waited longest.</summary>
    private readonly LinkedList<Place> _waiting = new();
    private int _answering;

    public ConnectionDelegate Limit(ConnectionDelegate next) => async connection =>
    {
        var place = new Place(this, connection);
        if (!TryTake(place))
        {
            connection.Abort(new ConnectionAbortedException("too many requests to the HTTP port"));
            return;
        }
        connection.Features.Set(place);
        try
        {
            await next(connection);
        }
        finally
        {
            lock (_gate) Leave(place);
        }
    };

    private bool TryTake(Place place)
    {
        Place? former = null;
        lock (_gate)
        {
            if (_waiting.Count + _answering >= places)
            {
                former = _waiting.First?.Value;
                if (former is null) return false;
                Leave(former);
            }
            _waiting.AddLast(place.Node);
        }
        former?.Connection.Abort(new ConnectionAbortedException("a newer connection to the HTTP port takes the place"));
        return true;
    }

    private void Leave(Place place)
    {
        if (place.Node.List is not null) _waiting.Remove(place.Node);
        else if (place.IsAnswering) _answering--;
        place.IsAnswering = false;
    }

    /// <summary>A connection. It keeps its place while a request is answered.</summary>
    internal sealed class Place
    {
        private readonly HttpPlaces _owner;

        public Place(HttpPlaces owner, ConnectionContext connection)
        {
            (_owner, Connection) = (owner, connection);
            Node = new LinkedListNode<Place>(this);
        }

        public ConnectionContext Connection { get; }

        /// <summary>The entry in the list of waiting connections, if the connection waits.</summary>
        public LinkedListNode<Place> Node { get; }

        public bool IsAnswering { get; set; }

        public void BeginAnswer()
        {
            lock (_owner._gate)
            {
                if (Node.List is null) return;
                _owner._waiting.Remove(Node);
                _owner._answering++;
                IsAnswering = true;
            }
        }

        public void EndAnswer()
        {
            lock (_owner._gate)
            {
                if (!IsAnswering) return;
                IsAnswering = false;
                _owner._answering--;
                _owner._waiting.AddLast(Node);
            }
        }
    }
}
