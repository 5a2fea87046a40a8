using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Protocol;

namespace RedisClone.Engine.Acl;

/// <summary>
/// The kinds of refusals, from the least to the most specific. If several selectors refuse, the most specific one is reported.
/// </summary>
internal enum DenialReason
{
    None,
    Command,
    Key,
    Login,
    Channel,
}

/// <summary>A refusal and the argument that caused it. The default value refuses nothing.</summary>
internal readonly record struct Denial(DenialReason Reason, int Argument = 0)
{
    public bool IsAllowed => Reason == DenialReason.None;

    /// <summary>
    /// The error for the client. It does not name the key or channel, because replies may be logged where requests are not.
    /// </summary>
    public string Message(User user, CommandRow row) => Reason switch
    {
        DenialReason.Key => "No permissions to access a key",
        DenialReason.Channel => "No permissions to access a channel",
        _ => $"User {user.Name} has no permissions to run the '{row.FullName}' command",
    };

    /// <summary>The text for ACL DRYRUN.</summary>
    public byte[] LongMessage(User user, CommandRow row, in Request request)
    {
        if (Reason == DenialReason.Command) return AccessText.Bytes(Message(user, row));
        string kind = Reason == DenialReason.Key ? "key" : "channel";
        return AccessText.Bytes($"User {user.Name} has no permissions to access the '{AccessText.Of(request[Argument])}' {kind}");
    }

    /// <summary>The error for a command that was allowed when MULTI queued it.</summary>
    public string MessageInExec() =>
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the " +
        "following reason: " + Reason switch
        {
            DenialReason.Command => "no permission to execute the command or subcommand",
            DenialReason.Key => "no permission to touch the specified keys",
            _ => "no permission to access one of the channels used as argument to the command",
        };

    /// <summary>The refused object: the command's name, the key or the channel.</summary>
    public byte[] Object(CommandRow row, in Request request) =>
        Reason == DenialReason.Command ? Encoding.ASCII.GetBytes(row.FullName) : request[Argument].ToArray();

    public RareEvent Counter => Reason switch
    {
        DenialReason.Command => RareEvent.DeniedCommand,
        DenialReason.Key => RareEvent.DeniedKey,
        DenialReason.Channel => RareEvent.DeniedChannel,
        _ => RareEvent.DeniedAuthentication,
    };
}
