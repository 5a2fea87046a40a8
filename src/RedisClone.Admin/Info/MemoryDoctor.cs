using System.Globalization;
using System.Text;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Info;

/// <summary>MEMORY DOCTOR: explains unusual values of MEMORY STATS. The text begins as in Redis.</summary>
internal static class MemoryDoctor
{
    private const long TooSmallToTell = 5 << 20;
    private const string TooSmall =
        "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used in these conditions.\n";

    private const string NoIssue =
        "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on this base.\n";

    private const double HighPeak = 1.5, HighFragmentation = 1.4, HighClients = 0.5;
    private const long NotableBytes = 10 << 20;

    public static string Examine(ServerCore server)
    {
        MemoryUsage memory = MemoryUsage.Read(server);
        if (memory.Used < TooSmallToTell) return TooSmall;
        var findings = new StringBuilder();
        if (MemoryInfo.Quotient(server.Sampler.PeakMemory, memory.Used) > HighPeak)
            Find(findings, "Peak", $"at its peak, memory was {InfoWriter.Human(server.Sampler.PeakMemory)}, now it is {InfoWriter.Human(memory.Used)}");
        if (MemoryInfo.Quotient(memory.Reserved, memory.Data) > HighFragmentation && memory.Reserved - memory.Data > NotableBytes)
            Find(findings, "Fragmentation", $"{InfoWriter.Human(memory.Reserved)} are reserved for {InfoWriter.Human(memory.Data)} of data");
        if (MemoryInfo.Quotient(memory.Clients, memory.Used) > HighClients)
            Find(findings, "Clients", $"clients hold {InfoWriter.Human(memory.Clients)}; CLIENT LIST shows who");
        if (MemoryInfo.Quotient(memory.Replicas, memory.Used) > HighClients)
            Find(findings, "Replicas", $"{InfoWriter.Human(memory.Replicas)} wait for replicas; INFO replication shows which replica is behind");
        if (memory.PendingFrees > 0)
            Find(findings, "Freeing", string.Create(CultureInfo.InvariantCulture, $"{memory.PendingFrees} removed keys are still being freed"));
        return findings.Length == 0
            ? NoIssue
            : "Sam, I detected a few issues in this Redis instance memory implants:\n\n" + findings;
    }

    private static void Find(StringBuilder findings, string title, string text) => findings.Append(" * ").Append(title).Append(": ").Append(text).Append(".\n");
}
