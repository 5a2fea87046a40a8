using RedisClone.Protocol;
using RedisClone.Storage.Values;

namespace RedisClone.Engine.Commands.Collections;

/// <summary>Writes elements of collections to replies.</summary>
internal static class ElementReplies
{
    /// <summary>Replies with an element as a bulk string.</summary>
    public static void Element(this ReplyWriter reply, scoped Element element)
    {
        if (element.IsInteger) reply.BulkInteger(element.Integer);
        else reply.Bulk(element.Bytes);
    }
}
