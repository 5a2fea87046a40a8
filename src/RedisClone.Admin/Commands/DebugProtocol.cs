using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Commands;

/// <summary>DEBUG PROTOCOL: an example of each reply type, for authors of clients.</summary>
internal static class DebugProtocol
{
    public static void Reply(ref CommandContext c)
    {
        switch (c.Text(2).ToLowerInvariant())
        {
            case "string":
                c.Reply.Bulk("Hello World"u8);
                break;
            case "integer":
                c.Reply.Integer(12345);
                break;
            case "double":
                c.Reply.Double(3.141);
                break;
            case "bignum":
                c.Reply.BigNumber("1234567999999999999999999999999999999"u8);
                break;
            case "null":
                c.Reply.Null();
                break;
            case "array":
                c.Reply.ArrayHeader(3);
                for (int i = 0; i < 3; i++) c.Reply.Integer(i);
                break;
            case "set":
                c.Reply.SetHeader(3);
                for (int i = 0; i < 3; i++) c.Reply.Integer(i);
                break;
            case "map":
                c.Reply.MapHeader(3);
                for (int i = 0; i < 3; i++)
                {
                    c.Reply.Integer(i);
                    c.Reply.Bool(i == 1);
                }
                break;
            case "attrib":
                Attribute(ref c);
                break;
            case "push":
                Push(ref c);
                break;
            case "verbatim":
                c.Reply.Verbatim("txt"u8, "This is a verbatim\nstring"u8);
                break;
            case "true":
                c.Reply.Bool(true);
                break;
            case "false":
                c.Reply.Bool(false);
                break;
            default:
                c.Fail("ERR Wrong protocol type name. Please use one of the following: " +
                    "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
                break;
        }
    }

    /// <summary>An attribute precedes a reply and does not replace it. RESP2 clients get the reply only.</summary>
    private static void Attribute(ref CommandContext c)
    {
        if (c.Reply.Version >= 3)
        {
            c.Reply.AttributeHeader(1);
            c.Reply.Bulk("key-popularity"u8);
            c.Reply.ArrayHeader(2);
            c.Reply.Bulk("key:123"u8);
            c.Reply.Integer(90);
        }
        c.Reply.Bulk("Some real reply following the attribute"u8);
    }

    /// <summary>A push message does not replace the reply either.</summary>
    private static void Push(ref CommandContext c)
    {
        if (c.Reply.Version < 3)
        {
            c.Fail("ERR RESP2 is not supported by this command");
            return;
        }
        c.Reply.PushHeader(2);
        c.Reply.Bulk("server-cpu-usage"u8);
        c.Reply.Integer(42);
        c.Reply.Bulk("Some real reply following the push reply"u8);
    }
}
