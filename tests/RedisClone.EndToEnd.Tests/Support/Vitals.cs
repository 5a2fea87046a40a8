using System.Globalization;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>The resources of a server at one moment, as the system counts them and as the server reports them.</summary>
internal sealed record Vitals(long ResidentBytes, int Threads, int Handles, int Sockets, IReadOnlyDictionary<string, string> Info)
{
    /// <summary>
    /// The numbers of INFO that belong to connections and must return to their base when the connections close.
    /// </summary>
    private static readonly string[] s_ofConnections =
    [
        "blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients", "total_watched_keys",
        "total_blocking_keys", "total_blocking_keys_on_nokey",
        "pubsub_channels", "pubsub_patterns", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes",
    ];

    /// <param name="server">The server.</param>
    /// <param name="client">A client of this server, which sends INFO.</param>
    public static Vitals Of(ServerProcess server, RespClient client)
    {
        // The counts include the connection of this client once the server has answered it.
        string info = client.Call("INFO", "EVERYTHING").Text!;
        string system = $"/proc/{server.Id}/";
        string threads = File.ReadLines(system + "status").First(l => l.StartsWith("Threads:", StringComparison.Ordinal));
        string?[] handles = [.. Directory.GetFiles(system + "fd").Select(file => new FileInfo(file).LinkTarget)];
        return new Vitals(
            server.ResidentBytes, int.Parse(threads["Threads:".Length..], CultureInfo.InvariantCulture),
            handles.Length, handles.Count(target => target?.StartsWith("socket:", StringComparison.Ordinal) ?? false),
            info.Split("\r\n").Select(line => line.Split(':', 2)).Where(field => field.Length == 2)
                .DistinctBy(field => field[0]).ToDictionary(field => field[0], field => field[1]));
    }

    /// <summary>
    /// Waits until no resource of other connections is left. It fails and lists the remaining resources if this does not happen.
    /// </summary>
    /// <param name="server">The server.</param>
    /// <param name="client">A client of this server, which sends INFO.</param>
    /// <param name="sockets">The allowed number of open sockets.</param>
    public static Vitals OfQuiet(ServerProcess server, RespClient client, int sockets = int.MaxValue)
    {
        long start = Environment.TickCount64;
        while (true)
        {
            Vitals now = Of(server, client);
            string[] left = [.. s_ofConnections.Where(name => now[name] != 0).Select(name => $"{name}:{now[name]}")];
            if (now["connected_clients"] == 1 && left.Length == 0 && now.Sockets <= sockets) return now;
            Assert.True(Environment.TickCount64 - start < 120_000,
                $"clients remain: {now["connected_clients"] - 1}, sockets {now.Sockets - sockets}, {string.Join(' ', left)}");
            Thread.Sleep(20);
        }
    }

    /// <summary>The value of a number in INFO.</summary>
    public long this[string name] => long.Parse(Info[name], CultureInfo.InvariantCulture);
}
