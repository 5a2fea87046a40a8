using System.Buffers;
using RedisClone.Protocol;

namespace RedisClone.Engine.Caching;

/// <summary>
/// An invalidation of keys, encoded once for all recipients: as a push in RESP3, or as a published message for a RESP2
/// connection that receives it by redirection.
/// </summary>
internal sealed class Invalidation
{
    /// <summary>Invalidates all keys.</summary>
    public static readonly Invalidation Everything = new();

    private readonly byte[]? _keys;
    private byte[]? _push, _published;

    private Invalidation()
    {
    }

    public Invalidation(ReadOnlySpan<byte> key)
    {
        var output = new ArrayBufferWriter<byte>(key.Length + 32);
        var writer = new ReplyWriter(output);
        writer.ArrayHeader(1);
        writer.Bulk(key);
        writer.Commit();
        _keys = output.WrittenSpan.ToArray();
    }

    public Invalidation(List<byte[]> keys)
    {
        var output = new ArrayBufferWriter<byte>(256);
        var writer = new ReplyWriter(output);
        writer.ArrayHeader(keys.Count);
        foreach (byte[] key in keys) writer.Bulk(key);
        writer.Commit();
        _keys = output.WrittenSpan.ToArray();
    }

    public byte[] Push => _push ??= [.. ">2\r\n$10\r\ninvalidate\r\n"u8, .. _keys ?? "_\r\n"u8];

    public byte[] Published => _published ??= [.. "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"u8, .. _keys ?? "$-1\r\n"u8];

    /// <summary>The message that the client which receives redirected invalidations is gone.</summary>
    public static byte[] RedirectBroken(long redirect)
    {
        var output = new ArrayBufferWriter<byte>(64);
        var writer = new ReplyWriter(output) { Version = 3 };
        writer.PushHeader(2);
        writer.Bulk("tracking-redir-broken"u8);
        writer.Integer(redirect);
        writer.Commit();
        return output.WrittenSpan.ToArray();
    }
}
