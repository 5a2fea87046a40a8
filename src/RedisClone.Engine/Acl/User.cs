using RedisClone.Configuration;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Acl;

/// <summary>
/// The user of a connection. The object stays the same when its rules change, so a change applies to the next command of every
/// client that is authenticated as this user. The object of a deleted user remains and permits nothing.
/// </summary>
internal sealed class User
{
    private volatile Permissions _permissions;

    internal User(string name, Permissions permissions)
    {
        Name = name;
        Text = ConfigText.FromLine(name);
        _permissions = permissions.Complete();
    }

    /// <summary>The name with one char per byte.</summary>
    public string Name { get; }

    /// <summary>The name decoded as UTF-8.</summary>
    public string Text { get; }

    internal Permissions Permissions
    {
        get => _permissions;
        set => _permissions = value.Complete();
    }

    /// <summary>True if the user may do everything. The path of a request reads only this property.</summary>
    public bool IsUnrestricted => _permissions.IsUnrestricted;

    internal Denial Check(CommandRow row, in Request request) => _permissions.Check(row, request);

    internal bool MayReadEveryKey(CommandRow row, in Request request) => _permissions.MayReadEveryKey(row, request);

    internal bool Accepts(ReadOnlySpan<byte> password)
    {
        Permissions now = _permissions;
        return now.Enabled && (now.NoPassword || AccessText.AnyIs(now.Passwords, password));
    }
}
