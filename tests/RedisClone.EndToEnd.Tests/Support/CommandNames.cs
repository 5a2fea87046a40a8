namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>The commands that a running server reports. The tests therefore cover new commands.</summary>
internal static class CommandNames
{
    /// <summary>Returns the names in capitals. A subcommand has the form CONFIG|GET.</summary>
    public static HashSet<string> Of(ServerProcess server)
    {
        using RespClient client = server.Connect();
        return [.. client.Call("COMMAND", "LIST").Items!.Select(name => name.Text!.ToUpperInvariant())];
    }
}
