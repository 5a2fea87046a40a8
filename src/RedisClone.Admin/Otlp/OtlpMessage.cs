using System.Globalization;
using RedisClone.Admin.Info;
using RedisClone.Admin.Prometheus;
using RedisClone.Configuration;
using RedisClone.Engine;

namespace RedisClone.Admin.Otlp;

/// <summary>
/// The exported figures as a request of OpenTelemetry's protocol (OTLP 1, ExportMetricsServiceRequest in binary form). A counter is a
/// cumulative sum. The quantiles of a distribution are gauges with the attribute <c>quantile</c>.
/// </summary>
internal static class OtlpMessage
{
    public const string ContentType = "application/x-protobuf";

    private const int Cumulative = 2;

    public static byte[] Write(ServerCore server)
    {
        var reading = new ServerReading(server);
        var times = new Times((ulong)server.StartedAt * 1_000_000, (ulong)reading.Now * 1_000_000);
        var request = new ProtobufWriter();
        request.Message(1, resourceMetrics =>
        {
            resourceMetrics.Message(1, resource =>
            {
                Attribute(resource, 1, "service.name", "redisclone");
                Attribute(resource, 1, "service.version", ServerVersion.Own);
                Attribute(resource, 1, "service.instance.id", server.RunId);
                Attribute(resource, 1, "host.name", Environment.MachineName);
                Attribute(resource, 1, "server.port", server.Config.Port.ToString(CultureInfo.InvariantCulture));
            });
            resourceMetrics.Message(2, scopeMetrics =>
            {
                scopeMetrics.Message(1, scope =>
                {
                    scope.Text(1, "RedisClone");
                    scope.Text(2, ServerVersion.Own);
                });
                foreach (Export export in MetricsPage.Exports)
                    if (export.Read(reading).ToArray() is { Length: > 0 } samples) scopeMetrics.Message(2, metric => Write(metric, export, samples, times));
            });
        });
        return request.ToArray();
    }

    private static void Write(ProtobufWriter metric, Export export, Sample[] samples, Times times)
    {
        const int gauge = 5, sum = 7;
        metric.Text(1, export.Metric.Name);
        metric.Text(2, export.Metric.Help);
        metric.Text(3, export.Metric.Unit switch
        {
            Unit.Bytes => "By",
            Unit.None => "1",
            _ => "s",
        });
        metric.Message(export.Metric.IsCounter ? sum : gauge, data =>
        {
            foreach (Sample sample in samples) data.Message(1, point => Write(point, export, sample, times));
            if (!export.Metric.IsCounter) return;
            data.Number(2, Cumulative);
            data.Number(3, 1);      // monotonic
        });
    }

    private static void Write(ProtobufWriter point, Export export, Sample sample, Times times)
    {
        const int attributes = 7;
        if (export.Metric.IsCounter) point.Fixed(2, times.Start);
        point.Fixed(3, times.Now);
        point.Double(4, sample.Value);
        if (export.Label.Length > 0) Attribute(point, attributes, export.Label, sample.Label);
        if (sample.Quantile.Length > 0) Attribute(point, attributes, "quantile", sample.Quantile);
    }

    private static void Attribute(ProtobufWriter owner, int field, string name, string value) => owner.Message(field, attribute =>
    {
        attribute.Text(1, name);
        attribute.Message(2, any => any.Text(1, value));
    });

    /// <summary>The start of the server and the time of the reading, in nanoseconds of Unix time.</summary>
    private readonly record struct Times(ulong Start, ulong Now);
}
