using System.Security.Cryptography;
using RedisClone.Engine.Acl;

namespace RedisClone.Server.Studio;

/// <summary>
/// A browser that is signed in as an ACL user. It ends with a logout, after some time, and when anything about its user changes: the
/// rules, the password, or the existence.
/// </summary>
internal sealed class StudioSession(User user, Permissions permissions, bool isAutomatic, StudioLink screens, StudioLink console) : IDisposable
{
    private readonly long _createdAt = Environment.TickCount64;
    private long _usedAt = Environment.TickCount64;
    private bool _ended;

    /// <summary>The secret in the cookie.</summary>
    public string Key { get; } = Convert.ToHexString(RandomNumberGenerator.GetBytes(32));

    public User User => user;

    /// <summary>The session began without signing in: the default user needs no password, and the browser is on this machine.</summary>
    public bool IsAutomatic => isAutomatic;

    /// <summary>The connection of the screens. Their commands only read.</summary>
    public StudioLink Screens => screens;

    /// <summary>The connection of the console, with its own database and transaction.</summary>
    public StudioLink Console => console;

    public long UsedAt => Volatile.Read(ref _usedAt);

    public bool IsValid =>
        !_ended && ReferenceEquals(user.Permissions, permissions) && permissions.Enabled && !screens.IsBroken && !console.IsBroken
            && Environment.TickCount64 - UsedAt < StudioLimits.IdleSession.TotalMilliseconds
            && Environment.TickCount64 - _createdAt < StudioLimits.LongestSession.TotalMilliseconds;

    public void Use() => Volatile.Write(ref _usedAt, Environment.TickCount64);

    public void Dispose()
    {
        _ended = true;
        screens.Dispose();
        console.Dispose();
    }
}
