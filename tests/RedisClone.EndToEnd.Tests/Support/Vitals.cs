using System.Globalization;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>What a server holds at a moment: as the system counts it, and as it says itself.</summary>
internal sealed record Vitals(long ResidentBytes, int Threads, int Handles, int Sockets, IReadOnlyDictionary<string, string> Info)
{
    /// <summary>What belongs to a connection, and must be gone with it.</summary>
    private static readonly string[] s_ofConnections =
    [
        "blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients", "total_watched_keys", "total_blocking_keys", "total_blocking_keys_on_nokey",
        "pubsub_channels", "pubsub_patterns", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes",
    ];

    /// <param name="server">Whose.</param>
    /// <param name="client">One of its clients, to ask.</param>
    public static Vitals Of(ServerProcess server, RespClient client)
    {
        // Once it has answered, the client's own connection is among those that are counted.
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

    /// <summary>Waits until nothing of other connections than the asking one is left; fails, with what is, where that does not come.</summary>
    /// <param name="server">Whose.</param>
    /// <param name="client">One of its clients, to ask.</param>
    /// <param name="sockets">As many may be open.</param>
    public static Vitals OfQuiet(ServerProcess server, RespClient client, int sockets = int.MaxValue)
    {
        long start = Environment.TickCount64;
        while (true)
        {
            Vitals now = Of(server, client);
            string[] left = [.. s_ofConnections.Where(name => now[name] != 0).Select(name => $"{name}:{now[name]}")];
            if (now["connected_clients"] == 1 && left.Length == 0 && now.Sockets <= sockets) return now;
            Assert.True(Environment.TickCount64 - start < 120_000, $"of clients that are gone there are still {now["connected_clients"] - 1}, with {now.Sockets - sockets} sockets: {string.Join(' ', left)}");
            Thread.Sleep(20);
        }
    }

    /// <summary>A number of INFO.</summary>
    public long this[string name] => long.Parse(Info[name], CultureInfo.InvariantCulture);
}
