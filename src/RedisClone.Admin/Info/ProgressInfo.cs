using RedisClone.Engine.Metrics;
using static RedisClone.Admin.Info.Metric;

namespace RedisClone.Admin.Info;

/// <summary>INFO's section about long work: loads, snapshots, rewrites, copies of all data, and moves of slots.</summary>
internal static class ProgressInfo
{
    public static readonly InfoRow[] Rows =
    [
        new Family<LongWork?>("work_", "work", AllKinds, [
            new("running", static w => w is not null, Gauge("redisclone_work_running", "1 while this kind of long work runs.")),
            new("unit", static w => w is { InBytes: true } ? "bytes" : "keys"),
            new("done", static w => w?.Done ?? 0),
            new("total", static w => w?.Total ?? 0),
            new("done_ratio", static w => FigureValue.Ratio(w?.Share ?? 0),
                Gauge("redisclone_work_done_ratio", "The part of the long work that is done, from 0 to 1.")),
            new("rate", static w => (long)(w?.Rate ?? 0)),
            new("seconds", static w => (long)(w?.Taken.TotalSeconds ?? 0),
                Gauge("redisclone_work_duration_seconds", "Seconds since the long work began; 0 if none runs.", Unit.Seconds)),
            new("seconds_left", static w => w?.SecondsLeft ?? -1),
        ]),
    ];

    private static IEnumerable<KeyValuePair<string, LongWork?>> AllKinds(ServerReading reading) =>
        LongWorkKind.All.Select(kind => KeyValuePair.Create(kind.Name, reading.Work.FirstOrDefault(work => work.Kind == kind)));
}
