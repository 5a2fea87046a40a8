using System.Net;
using System.Net.Sockets;
using RedisClone.Server.Net;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Tests.Net;

/// <summary>
/// Which clients count as being on this machine: protected mode, and commands for such clients only, go by it.
/// </summary>
public sealed class ClientAddressTests
{
    private static readonly IPEndPoint s_listens = new(IPAddress.Parse("192.0.2.1"), 6379);

    [Theory]
    [InlineData("127.0.0.1", true)]
    [InlineData("127.9.9.9", true)]
    [InlineData("::1", true)]
    [InlineData("::ffff:127.0.0.1", true)]
    [InlineData("192.0.2.7", false)]
    [InlineData("::ffff:192.0.2.7", false)]
    public void Addresses(string address, bool isLocal) =>
        Assert.Equal(isLocal, ClientAddress.IsLocal(new IPEndPoint(IPAddress.Parse(address), 1), s_listens));

    [Fact]
    public void A_peer_of_unknown_address_is_not_local()
    {
        Assert.False(ClientAddress.IsLocal(null, s_listens));
        Assert.False(ClientAddress.IsLocal(null, null));
        Assert.False(ClientAddress.IsLocal(new DnsEndPoint("localhost", 1), s_listens));
    }

    [Fact]
    public void Unix_sockets_and_this_process_are_local()
    {
        Assert.True(ClientAddress.IsLocal(null, new UnixDomainSocketEndPoint("/tmp/socket")));
        Assert.True(ClientAddress.IsLocal(MemoryEndPoint.Instance, MemoryEndPoint.Instance));
    }
}
