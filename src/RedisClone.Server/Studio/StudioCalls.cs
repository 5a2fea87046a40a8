using System.Text;
using System.Text.Json;
using RedisClone.Admin.History;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Shards;
using RedisClone.Journal.Reading;
using RedisClone.Scheduling;

namespace RedisClone.Server.Studio;

/// <summary>
/// The calls of the page. Most of what the page shows comes from ordinary commands; the other calls read what no command returns:
/// the history, the load of the shards, the tables of commands and parameters, and the report of the recovery.
/// </summary>
internal sealed class StudioCalls(ServerCore server, FigureHistory history)
{
    private const int HeatSeconds = 60;

    /// <summary>Runs a call. Returns null, or the reason why it is refused; an empty reason if there is no such call.</summary>
    public async ValueTask<string?> RunAsync(StudioSession session, string call, JsonElement body, Utf8JsonWriter json, CancellationToken cancelled)
    {
        if (call == "/call")
        {
            await RunCommandsAsync(session, body, json, cancelled);
            return null;
        }
        string right = call == "/parameters" ? "config|get" : "info";
        if (!StudioRights.MayRun(server, session.User, right)) return $"the user {session.User.Text} may not run {right}";
        switch (call)
        {
            case "/history":
                WriteHistory(body, json);
                return null;
            case "/shards":
                WriteShards(json);
                return null;
            case "/parameters":
                WriteParameters(json);
                return null;
            case "/commands":
                WriteCommands(json);
                return null;
            case "/recovery":
                WriteRecovery(json);
                return null;
            default:
                return "";
        }
    }

    /// <summary>Runs commands in order and writes an array of their replies.</summary>
    private async Task RunCommandsAsync(StudioSession session, JsonElement body, Utf8JsonWriter json, CancellationToken cancelled)
    {
        bool inConsole = body.TryGetProperty("console", out JsonElement console) && console.GetBoolean();
        JsonElement list = body.GetProperty("commands");
        if (list.GetArrayLength() > StudioLimits.Commands) throw new FormatException();
        byte[][][] commands = [.. list.EnumerateArray().Select(static command => command.EnumerateArray().Select(BytesOf).ToArray())];
        json.WriteStartArray();
        foreach (byte[][] command in commands)
        {
            if (command.Length == 0) throw new FormatException();
            if (StudioRights.Refusal(server, command, inConsole) is { } refusal)
            {
                json.WriteStartObject();
                json.WriteString("x", refusal);
                json.WriteEndObject();
            }
            else await (inConsole ? session.Console : session.Screens).RunAsync([command], json, cancelled);
        }
        json.WriteEndArray();
    }

    /// <summary>An argument is a text, or an object with its bytes in base64.</summary>
    private static byte[] BytesOf(JsonElement argument) =>
        argument.ValueKind == JsonValueKind.String ? Encoding.UTF8.GetBytes(argument.GetString()!) : argument.GetProperty("b").GetBytesFromBase64();

    private void WriteHistory(JsonElement body, Utf8JsonWriter json)
    {
        const int mostSeries = 128, mostPoints = 1440, secondsPerDay = 86400;
        string[] names = [.. body.GetProperty("series").EnumerateArray().Take(mostSeries).Select(static name => name.GetString()!)];
        HistoryPoints points = history.Read(names, Math.Clamp(body.GetProperty("seconds").GetInt32(), 1, secondsPerDay),
            Math.Clamp(body.GetProperty("points").GetInt32(), 1, mostPoints), body.GetProperty("after").GetInt64());
        json.WriteStartObject();
        json.WriteNumber("step", points.Step);
        json.WriteNumber("now", ServerCore.UnixMilliseconds() / 1000);
        json.WriteStartArray("times");
        foreach (long time in points.Times) json.WriteNumberValue(time);
        json.WriteEndArray();
        json.WriteStartArray("values");
        foreach (List<float> series in points.Values)
        {
            json.WriteStartArray();
            foreach (float value in series)
                if (float.IsFinite(value)) json.WriteNumberValue(value);
                else json.WriteNullValue();
            json.WriteEndArray();
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private void WriteShards(Utf8JsonWriter json)
    {
        json.WriteStartObject();
        json.WriteNumber("imbalance", server.ShardLoads.Imbalance);
        json.WriteStartArray("seconds");
        foreach (int[] second in server.ShardLoads.Read(HeatSeconds))
        {
            json.WriteStartArray();
            foreach (int holds in second) json.WriteNumberValue(holds);
            json.WriteEndArray();
        }
        json.WriteEndArray();
        json.WriteStartArray("shards");
        for (int i = 0; i < server.Shards.Count; i++) WriteShard(server.Shards[i], json);
        json.WriteEndArray();
        json.WriteStartArray("loops");
        foreach (LoopCounters loop in server.Loops())
        {
            json.WriteStartObject();
            json.WriteNumber("rounds", loop.Rounds);
            json.WriteNumber("receives", loop.Receives);
            json.WriteNumber("connections", loop.Connections);
            json.WriteNumber("unsent", loop.UnsentBytes);
            json.WriteEndObject();
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteShard(Shard shard, Utf8JsonWriter json)
    {
        long keys = 0;
        for (int database = 0; database < shard.Store.DatabaseCount; database++) keys += shard.Store.ExistingDatabase(database)?.Count ?? 0;
        json.WriteStartObject();
        json.WriteNumber("holds", shard.Holds);
        json.WriteNumber("waits", shard.Waits);
        json.WriteNumber("queued", shard.Queued);
        json.WriteNumber("keys", keys);
        json.WriteNumber("used", shard.Store.Arena.BytesUsed);
        json.WriteNumber("slack", shard.Store.Arena.SlackBytes);
        json.WriteEndObject();
    }

    private void WriteParameters(Utf8JsonWriter json)
    {
        json.WriteStartArray();
        foreach (ParameterGroup group in ConfigTable.Groups)
            foreach (Parameter parameter in group.Parameters)
            {
                bool isSecret = parameter.Has(ParameterFlags.Secret), isDefault = parameter.IsDefault(server.Config);
                json.WriteStartObject();
                json.WriteString("group", group.Title);
                json.WriteString("name", parameter.Name);
                json.WriteString("value", isSecret ? isDefault ? "" : "(hidden)" : parameter.GetText(server.Config));
                json.WriteString("standard", isSecret ? "" : parameter.DefaultText);
                json.WriteBoolean("differs", !isDefault);
                json.WriteBoolean("fixed", parameter.Has(ParameterFlags.Immutable));
                json.WriteBoolean("unused", parameter.Has(ParameterFlags.TunesNothing) || parameter.Has(ParameterFlags.Unsupported));
                json.WriteString("doc", parameter.Doc);
                json.WriteString("values", parameter.Values);
                json.WriteEndObject();
            }
        json.WriteEndArray();
    }

    private void WriteCommands(Utf8JsonWriter json)
    {
        json.WriteStartArray();
        foreach (CommandRow row in server.Commands.All)
        {
            json.WriteStartArray();
            json.WriteStringValue(row.FullName.Replace('|', ' ').ToUpperInvariant());
            json.WriteStringValue(row.Syntax);
            json.WriteStringValue(row.Group);
            json.WriteStringValue(row.Summary);
            json.WriteEndArray();
        }
        json.WriteEndArray();
    }

    private void WriteRecovery(Utf8JsonWriter json)
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
