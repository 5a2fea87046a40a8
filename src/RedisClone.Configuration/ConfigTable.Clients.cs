namespace RedisClone.Configuration;

/// <summary>The parameters for limits of clients.</summary>
internal sealed partial class ConfigTable
{
    private static Parameter[] Clients() =>
    [
        Bytes("proto-max-bulk-len", 536870912, 1048576, static c => ref c.ProtoMaxBulkLen,
            "The largest single string of a request. More than 1 GB has no effect."),
        Bytes("client-query-buffer-limit", 1073741824, 1048576, static c => ref c.ClientQueryBufferLimit,
            "Bytes of unfinished requests that a client may have."),
        new OutputLimitParameter("client-output-buffer-limit", [new(0, 0, 0), new(268435456, 67108864, 60), new(33554432, 8388608, 60)],
            static c => ref c.ClientOutputBufferLimits, "Bytes of unread replies at which a client is disconnected."),
        BytesOrPercent("maxmemory-clients", 0, static c => ref c.MaxMemoryClients,
            "Memory of all clients together at which the largest clients are disconnected; 0 is no limit."),
        Long("tracking-table-max-keys", 1000000, 0, static c => ref c.TrackingTableMaxKeys,
            "Keys remembered for client-side caching; 0 is no limit."),
        Long("busy-reply-threshold", 5000, 0, static c => ref c.BusyReplyThreshold,
            "Milliseconds after which other clients get BUSY while a script runs; 0 turns this off.", alias: "lua-time-limit"),
        UInt("client-default-resp", 2, 2, 3, static c => ref c.ClientDefaultResp,
            "Protocol version of a new connection.", Immutable | Hidden),
        Text("req-res-logfile", null,
            "File with requests and replies, for tests of Redis.", flags: Immutable | Hidden | TunesNothing),
    ];
}
