using System.Buffers;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Server.Tests.Commands;

/// <summary>The errors of Redis for requests that match the row of a subcommand but have invalid arguments.</summary>
public sealed class SubcommandTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData("PUBSUB CHANNELS a b", "CHANNELS", "PUBSUB")]
    [InlineData("PUBSUB ShardChannels a b", "ShardChannels", "PUBSUB")]
    [InlineData("SLOWLOG GET 1 2", "GET", "SLOWLOG")]
    [InlineData("ACL CAT read write", "CAT", "ACL")]
    [InlineData("ACL genpass 8 8", "genpass", "ACL")]
    [InlineData("FUNCTION FLUSH SYNC SYNC", "FLUSH", "FUNCTION")]
    [InlineData("FUNCTION RESTORE x FLUSH FLUSH", "RESTORE", "FUNCTION")]
    [InlineData("CLIENT PAUSE 1 ALL ALL", "PAUSE", "CLIENT")]
    [InlineData("CLIENT UNBLOCK 1 ERROR ERROR", "UNBLOCK", "CLIENT")]
    [InlineData("XGROUP CREATE k g 0 MKSTREAM ENTRIESREAD 1 1", "CREATE", "XGROUP")]
    public void TooManyArgumentsCauseTheErrorOfRedis(string request, string subcommand, string container) =>
        Assert.Equal($"ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try {container} HELP.", _host.Run(request));

    [Fact]
    public void AnUnknownCommandIsANullString()
    {
        var output = new ArrayBufferWriter<byte>();
        var reply = new ReplyWriter(output);
        CommandDescription.Info(reply, null);
        reply.Commit();
        Assert.Equal("$-1\r\n"u8, output.WrittenSpan);
    }
}
