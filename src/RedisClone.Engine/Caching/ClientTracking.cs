using RedisClone.Engine.Clients;

namespace RedisClone.Engine.Caching;

/// <summary>The options of CLIENT TRACKING.</summary>
[Flags]
internal enum TrackingModes
{
    None = 0,

    /// <summary>The client receives every change of keys with one of its prefixes, whether or not it has read them.</summary>
    Broadcast = 1,

    /// <summary>Tracks only keys that are read directly after CLIENT CACHING YES.</summary>
    OptIn = 2,

    /// <summary>Does not track keys that are read directly after CLIENT CACHING NO.</summary>
    OptOut = 4,

    /// <summary>Does not report the client's own changes.</summary>
    NoLoop = 8,
}

/// <summary>
/// The tracking options of one client that uses client-side caching. Threads that change keys read it. The options are
/// immutable; CLIENT TRACKING makes a new object.
/// </summary>
/// <param name="client">The client.</param>
/// <param name="modes">Its options.</param>
/// <param name="redirect">The id of the client that receives the invalidations instead, or 0.</param>
/// <param name="prefixes">The prefixes of keys in broadcast mode.</param>
internal sealed class ClientTracking(Session client, TrackingModes modes, long redirect, byte[][] prefixes)
{
    private volatile bool _redirectBroken;

    public Session Client => client;

    public TrackingModes Modes => modes;

    public long Redirect => redirect;

    public byte[][] Prefixes => prefixes;

    /// <summary>The memory that the prefixes take, their entries in the prefix tables included.</summary>
    public long PrefixBytes { get; } = prefixes.Sum(static prefix => (long)Limits.BytesPerPrefix + prefix.Length);

    /// <summary>Whether CLIENT CACHING was sent for the next command or transaction.</summary>
    public bool CachingGiven { get; set; }

    /// <summary>
    /// Whether the client that receives the invalidations is gone. This is detected when an invalidation is sent.
    /// </summary>
    public bool RedirectBroken
    {
        get => _redirectBroken;
        set => _redirectBroken = value;
    }

    public bool Broadcasts => (modes & TrackingModes.Broadcast) != 0;

    /// <summary>Whether the keys that the client reads now are tracked.</summary>
    public bool Remembers => (modes & (TrackingModes.Broadcast | TrackingModes.OptIn | TrackingModes.OptOut)) switch
    {
        TrackingModes.None => true,
        TrackingModes.OptIn => CachingGiven,
        TrackingModes.OptOut => !CachingGiven,
        _ => false,
    };

    /// <summary>Whether changes by this author are not reported to the client.</summary>
    public bool IsDeafTo(ClientTracking? author) => (modes & TrackingModes.NoLoop) != 0 && author is not null && author.Client == client;
}
