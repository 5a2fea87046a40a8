using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Server.Commands;

/// <summary>Replies elements of collections.</summary>
internal static class ElementReplies
{
    /// <summary>Replies an element as a bulk string.</summary>
    public static void Element(this ReplyWriter reply, scoped Element element)
    {
        if (element.IsInteger) reply.BulkInteger(element.Integer);
        else reply.Bulk(element.Bytes);
    }
}
