using System.Net;
using System.Net.Sockets;
using RedisClone.Server.Net;
using RedisClone.Transport.InMemory;

namespace RedisClone.Server.Tests.Net;

/// <summary>
/// Decides which clients are on this machine. Protected mode and the commands for local clients use this decision.
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
    public void AnAddressIsLocalOrRemote(string address, bool isLocal) =>
        Assert.Equal(isLocal, ClientAddress.IsLocal(new IPEndPoint(IPAddress.Parse(address), 1), s_listens));

    [Fact]
    public void APeerWithAnUnknownAddressIsNotLocal()
    {
        Assert.False(ClientAddress.IsLocal(null, s_listens));
        Assert.False(ClientAddress.IsLocal(null, null));
        Assert.False(ClientAddress.IsLocal(new DnsEndPoint("localhost", 1), s_listens));
    }

    [Fact]
    public void UnixSocketsAndThisProcessAreLocal()
    {
        Assert.True(ClientAddress.IsLocal(null, new UnixDomainSocketEndPoint("/tmp/socket")));
        Assert.True(ClientAddress.IsLocal(MemoryEndPoint.Instance, MemoryEndPoint.Instance));
    }
}
