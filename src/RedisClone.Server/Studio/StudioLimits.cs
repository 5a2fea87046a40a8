using RedisClone.Memory;

namespace RedisClone.Server.Studio;

/// <summary>The fixed limits of the studio.</summary>
internal static class StudioLimits
{
    /// <summary>Simultaneous connections to the HTTP port. Further connections are closed.</summary>
    public const int Connections = 64;

    /// <summary>Sessions at a time. A further one ends the session that was used least recently.</summary>
    public const int Sessions = 64;

    /// <summary>Commands in one call.</summary>
    public const int Commands = 256;

    /// <summary>Bytes of the body of a request to sign in. It needs no session.</summary>
    public const int SignInBytes = 16 << 10;

    /// <summary>Bytes of the body of one call in a large heap. A key of a megabyte is named several times in it.</summary>
    public const int MostBodyBytes = 8 << 20;

    /// <summary>Bytes of the body of one call.</summary>
    public static readonly long BodyBytes = HeapLimit.Part(32, MostBodyBytes);

    /// <summary>Bytes of the bodies of all calls at a time, each as long as it announces.</summary>
    public static readonly long AllBodyBytes = HeapLimit.Part(16, 64 << 20);

    /// <summary>Bytes of the replies to one call, as JSON.</summary>
    public static readonly long ReplyBytes = HeapLimit.Part(64, 16 << 20);

    /// <summary>Bytes of the replies to all calls at a time, as JSON.</summary>
    public static readonly long AllReplyBytes = HeapLimit.Part(16, 64 << 20);

    /// <summary>Sign-ins that are checked at a time. Others wait.</summary>
    public const int SignIns = 4;

    /// <summary>How long a call may take.</summary>
    public static readonly TimeSpan CallPatience = TimeSpan.FromSeconds(30);

    /// <summary>How long the answer to a wrong password waits.</summary>
    public static readonly TimeSpan WrongPasswordDelay = TimeSpan.FromMilliseconds(500);

    /// <summary>A session that is not used for this time ends.</summary>
    public static readonly TimeSpan IdleSession = TimeSpan.FromMinutes(30);

    /// <summary>A session ends after this time in any case.</summary>
    public static readonly TimeSpan LongestSession = TimeSpan.FromHours(12);
}
