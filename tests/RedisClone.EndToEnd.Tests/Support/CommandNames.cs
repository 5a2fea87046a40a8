namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>What a running server says about its commands: the tests grow with it.</summary>
internal static class CommandNames
{
    /// <summary>Names in capitals, subcommands as CONFIG|GET.</summary>
    public static HashSet<string> Of(ServerProcess server)
    {
        using RespClient client = server.Connect();
        return [.. client.Call("COMMAND", "LIST").Items!.Select(name => name.Text!.ToUpperInvariant())];
    }
}
