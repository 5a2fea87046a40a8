using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>Elements of collections as replies.</summary>
internal static class ElementReplies
{
    /// <summary>An element as a bulk string.</summary>
    public static void Element(this ReplyWriter reply, scoped Element element)
    {
        if (element.IsInteger) reply.BulkInteger(element.Integer);
        else reply.Bulk(element.Bytes);
    }
}
