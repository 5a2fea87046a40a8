using System.Text.Json;
using RedisClone.Engine;
using RedisClone.Journal.Reading;

namespace RedisClone.Admin.Reports;

/// <summary>What the last start read from the disk.</summary>
internal static class RecoveryReport
{
    public static void Write(ServerCore server, Utf8JsonWriter json)
    {
        json.WriteStartObject();
        json.WriteBoolean("loading", server.Loading is not null);
        json.WriteNumber("milliseconds", server.LoadMilliseconds);
        json.WriteNumber("startedAt", server.StartedAt);
        json.WriteNumber("keysLoaded", server.Snapshots.KeysLoaded);
        json.WriteNumber("keysExpired", server.Snapshots.KeysExpired);
        if (server.Journal?.Recovered is { } report) WriteReport(report, json);
        json.WriteEndObject();
    }

    private static void WriteReport(JournalReport report, Utf8JsonWriter json)
    {
        json.WriteStartObject("journal");
        json.WriteString("outcome", report.Outcome switch
        {
            JournalOutcome.Absent => "absent",
            JournalOutcome.Clean => "clean",
            JournalOutcome.Cut => "cut",
            _ => "refused",
        });
        json.WriteString("reason", report.Reason);
        json.WriteString("file", report.File);
        json.WriteNumber("offset", report.Offset);
        json.WriteNumber("cut", report.CutBytes);
        json.WriteNumber("position", report.Lsn);
        json.WriteStartArray("files");
        foreach (JournalFileReport file in report.Files)
        {
            json.WriteStartObject();
            json.WriteString("name", file.Name);
            json.WriteNumber("length", file.Length);
            json.WriteNumber("kept", file.Kept);
            json.WriteNumber("units", file.Units);
            json.WriteBoolean("sealed", file.IsSealed);
            json.WriteEndObject();
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }
}
