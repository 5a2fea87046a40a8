using RedisClone.Server.Net;

namespace RedisClone.Server.Caching;

/// <summary>What CLIENT TRACKING asked for.</summary>
[Flags]
internal enum TrackingModes
{
    None = 0,

    /// <summary>Every change of a key with one of the client's prefixes is told, whether or not the client has read it.</summary>
    Broadcast = 1,

    /// <summary>Only keys read right after CLIENT CACHING YES.</summary>
    OptIn = 2,

    /// <summary>Not keys read right after CLIENT CACHING NO.</summary>
    OptOut = 4,

    /// <summary>Not the client's own changes.</summary>
    NoLoop = 8,
}

/// <summary>
/// What one client that caches wants to be told. Read by whoever changes a key; it stays as it is, and CLIENT TRACKING makes another.
/// </summary>
/// <param name="client">Who caches.</param>
/// <param name="modes">How.</param>
/// <param name="redirect">The number of the client that is told instead, 0 for none.</param>
/// <param name="prefixes">Of the keys, when broadcasting.</param>
internal sealed class ClientTracking(Session client, TrackingModes modes, long redirect, byte[][] prefixes)
{
    private volatile bool _redirectBroken;

    public Session Client => client;

    public TrackingModes Modes => modes;

    public long Redirect => redirect;

    public byte[][] Prefixes => prefixes;

    /// <summary>CLIENT CACHING was given, which holds for the next command or transaction.</summary>
    public bool CachingGiven { get; set; }

    /// <summary>The client to be told instead is gone, as was noticed when there was something to tell.</summary>
    public bool RedirectBroken
    {
        get => _redirectBroken;
        set => _redirectBroken = value;
    }

    public bool Broadcasts => (modes & TrackingModes.Broadcast) != 0;

    /// <summary>Whether the keys that the client reads now are to be remembered.</summary>
    public bool Remembers => (modes & (TrackingModes.Broadcast | TrackingModes.OptIn | TrackingModes.OptOut)) switch
    {
        TrackingModes.None => true,
        TrackingModes.OptIn => CachingGiven,
        TrackingModes.OptOut => !CachingGiven,
        _ => false,
    };

    /// <summary>Whether it wants to hear nothing of what this author changes.</summary>
    public bool IsDeafTo(ClientTracking? author) => (modes & TrackingModes.NoLoop) != 0 && author is not null && author.Client == client;
}
