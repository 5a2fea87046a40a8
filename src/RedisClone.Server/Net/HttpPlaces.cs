using Microsoft.AspNetCore.Connections;

namespace RedisClone.Server.Net;

/// <summary>
/// The connections of an HTTP port, of which there are only some at a time. If all places are taken, a new connection takes the place of
/// the one that has waited longest for a request or for its body, so that clients that keep their connections cannot lock out a health check.
/// </summary>
internal sealed class HttpPlaces(int places)
{
    private readonly Lock _gate = new();

    /// <summary>The connections without a whole request begin with the one that has waited longest.</summary>
    private readonly LinkedList<Place> _waiting = new(), _answering = new();

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
            lock (_gate) place.Node.List?.Remove(place.Node);
        }
    };

    private bool TryTake(Place place)
    {
        Place? former = null;
        lock (_gate)
        {
            if (_waiting.Count + _answering.Count >= places)
            {
                former = _waiting.First?.Value;
                if (former is null) return false;
                _waiting.RemoveFirst();
            }
            _waiting.AddLast(place.Node);
        }
        former?.Connection.Abort(new ConnectionAbortedException("a newer connection to the HTTP port takes the place"));
        return true;
    }

    /// <summary>Moves a place from one list to the other, unless the connection has lost it.</summary>
    private void Move(Place place, LinkedList<Place> from, LinkedList<Place> to)
    {
        lock (_gate)
        {
            if (place.Node.List != from) return;
            from.Remove(place.Node);
            to.AddLast(place.Node);
        }
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

        /// <summary>The entry in one of the lists; in none if the connection has no place any more.</summary>
        public LinkedListNode<Place> Node { get; }

        public void BeginAnswer() => _owner.Move(this, _owner._waiting, _owner._answering);

        public void EndAnswer() => _owner.Move(this, _owner._answering, _owner._waiting);
    }
}
