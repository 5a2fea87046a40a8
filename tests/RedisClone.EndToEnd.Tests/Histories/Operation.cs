using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Histories;

internal enum Form
{
    /// <summary>One command.</summary>
    Single,

    /// <summary>All commands in one transaction; its EXEC is nil if what the client watches was touched.</summary>
    Transaction,

    /// <summary>All commands in one script, which returns all their replies.</summary>
    Script,
}

/// <summary>
/// What one client asked for in one step, when, and what it was told. <paramref name="Replies"/> is null if it never heard: the operation may
/// have taken effect before <paramref name="Returned"/>, or never.
/// </summary>
/// <param name="Client">A connection: it does one thing after the other, and watches keys.</param>
/// <param name="Commands">What takes effect at one moment.</param>
/// <param name="Form">How it was sent.</param>
/// <param name="Invoked">Before this it had no effect.</param>
/// <param name="Returned">After this it has no effect.</param>
/// <param name="Replies">One for each command, in the form of <see cref="Text"/>; a transaction that was called off has none.</param>
internal sealed record Operation(int Client, string[][] Commands, Form Form, long Invoked, long Returned, string[]? Replies)
{
    public bool IsUnknown => Replies is null;

    public static string Text(Reply reply) =>
        reply.IsNil ? "nil" : reply.Items is null ? reply.Text! : $"[{string.Join(' ', reply.Items.Select(Text))}]";

    public override string ToString() =>
        $"client {Client}, {Invoked}..{Returned}: {Form} {string.Join("; ", Commands.Select(Requests.Show))} -> {(Replies is null ? "?" : string.Join("; ", Replies))}";
}
