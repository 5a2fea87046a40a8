using RedisClone.Server.Admin;

namespace RedisClone.Server.Tests.Clients;

/// <summary>maxmemory-clients: who goes when all together hold too much. On both transports.</summary>
public sealed class ClientMemoryTests
{
    private const int Mega = 1 << 20;

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task The_largest_goes_and_the_rest_stays(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport, config => config.MaxMemoryClients = 2 * Mega);
        using TestClient client = server.Connect(), small = server.Connect(), large = server.Connect();
        small.SendRaw(HalfSent(Mega / 2));
        large.SendRaw(HalfSent(Mega * 2));
        Assert.Equal("", large.ReadToEnd());
        Assert.Contains("evicted_clients:1\r\n", client.Run("INFO stats"));
        small.SendRaw("\r\n");
        Assert.StartsWith("ERR unknown command", small.Read());
    }

    [Theory]
    [InlineData(TransportKind.EventLoop)]
    [InlineData(TransportKind.Sockets)]
    public async Task Who_passes_a_limit_of_its_own_is_not_the_reason_for_others_to_go(TransportKind transport)
    {
        await using RunningServer server = await RunningServer.StartAsync(transport);
        using TestClient client = server.Connect(), querying = server.Connect(), reading = server.Connect();
        client.Run($"SETRANGE k {4 * Mega} v");
        client.Call("CONFIG", "SET", "maxmemory-clients", $"{10 * Mega}", "client-output-buffer-limit", $"normal {3 * Mega} 0 0");
        querying.SendRaw(HalfSent(6 * Mega));
        await client.UntilAsync("CLIENT LIST", list => list.Contains($" qbuf={6 * Mega} ", StringComparison.Ordinal));
        reading.Send("GET", "k");
        Assert.Equal("", reading.ReadToEnd());
        Assert.Contains("evicted_clients:0\r\n", client.Run("INFO stats"));
        Assert.Contains("client_output_buffer_limit_disconnections:1\r\n", client.Run("INFO stats"));
        Assert.Contains($" qbuf={6 * Mega} ", client.Run("CLIENT LIST"));
    }

    /// <summary>A command of one argument, which still lacks its end.</summary>
    private static string HalfSent(int bytes) => $"*1\r\n${bytes}\r\n" + new string('v', bytes);
}
