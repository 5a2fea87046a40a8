using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Histories;

internal enum Form
{
    /// <summary>One command.</summary>
    Single,

    /// <summary>All commands in one transaction. Its EXEC is nil if a watched key was touched.</summary>
    Transaction,

    /// <summary>All commands in one script, which returns all replies.</summary>
    Script,
}

/// <summary>
/// One request of a client, its times and its replies. <paramref name="Replies"/> is null if the client got no reply. The
/// operation then took effect before <paramref name="Returned"/>, or never.
/// </summary>
/// <param name="Client">A connection. It sends one request after another and watches keys.</param>
/// <param name="Commands">The commands that take effect at one moment.</param>
/// <param name="Form">The form of the request.</param>
/// <param name="Invoked">The operation has no effect before this time.</param>
/// <param name="Returned">The operation has no effect after this time.</param>
/// <param name="Replies">One for each command, in the form of <see cref="Text"/>. An aborted transaction has none.</param>
internal sealed record Operation(int Client, string[][] Commands, Form Form, long Invoked, long Returned, string[]? Replies)
{
    public bool IsUnknown => Replies is null;

    public static string Text(Reply reply) =>
        reply.IsNil ? "nil" : reply.Items is null ? reply.Text! : $"[{string.Join(' ', reply.Items.Select(Text))}]";

    public override string ToString() =>
        $"client {Client}, {Invoked}..{Returned}: {Form} {string.Join("; ", Commands.Select(Requests.Show))} -> " +
        $"{(Replies is null ? "?" : string.Join("; ", Replies))}";
}
