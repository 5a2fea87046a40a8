using System.Diagnostics.CodeAnalysis;
using Microsoft.AspNetCore.Connections;

namespace RedisClone.Server.Net;

/// <summary>
/// Places for a limited number of connections. If all places are taken, a new connection takes the place of the one that has waited longest
/// for its peer, so that clients that do nothing with their connections cannot lock out others. Thread-safe.
/// </summary>
internal sealed class ConnectionPlaces(int places)
{
    private readonly Lock _gate = new();

    /// <summary>The connections that wait for their peers begin with the one that has waited longest.</summary>
    private readonly LinkedList<Place> _waiting = new(), _answering = new();

    /// <summary>
    /// Takes a place for a connection, which waits for its peer. Returns false if the others are all being answered.
    /// </summary>
    /// <param name="connection">The new connection.</param>
    /// <param name="place">Its place.</param>
    /// <param name="former">The connection that has lost its place, if there is one. The caller aborts it.</param>
    public bool TryTake(ConnectionContext connection, [NotNullWhen(true)] out Place? place, out ConnectionContext? former)
    {
        (place, former) = (null, null);
        var taken = new Place(this, connection);
        lock (_gate)
        {
            if (_waiting.Count + _answering.Count >= places)
            {
                if (_waiting.First is not { } longest) return false;
                former = longest.Value.Connection;
                _waiting.Remove(longest);
            }
            _waiting.AddLast(taken.Node);
        }
        place = taken;
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

    /// <summary>The place of a connection, which keeps it while it is answered.</summary>
    internal sealed class Place
    {
        private readonly ConnectionPlaces _owner;

        public Place(ConnectionPlaces owner, ConnectionContext connection)
        {
            (_owner, Connection) = (owner, connection);
            Node = new LinkedListNode<Place>(this);
        }

        public ConnectionContext Connection { get; }

        /// <summary>The entry in one of the lists; in none if the place was returned or lost.</summary>
        public LinkedListNode<Place> Node { get; }

        /// <summary>Whether the connection has returned its place itself.</summary>
        public bool IsReturned { get; private set; }

        public void BeginAnswer() => _owner.Move(this, _owner._waiting, _owner._answering);

        public void EndAnswer() => _owner.Move(this, _owner._answering, _owner._waiting);

        public void Return()
        {
            IsReturned = true;
            lock (_owner._gate) Node.List?.Remove(Node);
        }
    }
}
