using System.Text;
using System.Text.Json;
using RedisClone.Admin.History;
using RedisClone.Admin.Reports;
using RedisClone.Engine;
using RedisClone.Engine.Commands;

namespace RedisClone.Server.Studio;

/// <summary>
/// The calls of the page. Most of what the page shows comes from ordinary commands; the other calls read what no command returns:
/// the history, the load of the shards, the tables of commands and parameters, and the report of the recovery.
/// </summary>
internal sealed class StudioCalls(ServerCore server, FigureHistory history)
{
    /// <summary>Runs a call. Returns null, or the reason why it is refused; an empty reason if there is no such call.</summary>
    public async ValueTask<string?> RunAsync(
        StudioSession session, string call, JsonElement body, Utf8JsonWriter json, StudioBudget.Share memory, CancellationToken cancelled)
    {
        if (call == "/call")
        {
            await RunCommandsAsync(session, body, json, memory, cancelled);
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
                ShardReport.Write(server, json);
                return null;
            case "/parameters":
                ParameterReport.Write(server.Config, json);
                return null;
            case "/commands":
                WriteCommands(json);
                return null;
            case "/recovery":
                RecoveryReport.Write(server, json);
                return null;
            default:
                return "";
        }
    }

    /// <summary>Runs commands in order and writes an array of their replies.</summary>
    private async Task RunCommandsAsync(
        StudioSession session, JsonElement body, Utf8JsonWriter json, StudioBudget.Share memory, CancellationToken cancelled)
    {
        bool inConsole = body.TryGetProperty("console", out JsonElement console) && console.GetBoolean();
        JsonElement list = body.GetProperty("commands");
        if (list.GetArrayLength() > StudioLimits.Commands) throw new FormatException();
        byte[][][] commands = [.. list.EnumerateArray().Select(static command => command.EnumerateArray().Select(BytesOf).ToArray())];
        if (Array.Exists(commands, static command => command.Length == 0)) throw new FormatException();
        json.WriteStartArray();
        await (inConsole ? session.Console : session.Screens).RunAsync(
            [.. commands.Select(command => (command, StudioRights.Refusal(server, command, inConsole)))], json, memory, cancelled);
        json.WriteEndArray();
    }

    /// <summary>A text, which must not be missing.</summary>
    public static string TextOf(JsonElement element) => element.GetString() ?? throw new FormatException();

    /// <summary>An argument is a text, or an object with its bytes in base64.</summary>
    private static byte[] BytesOf(JsonElement argument) =>
        argument.ValueKind == JsonValueKind.String ? Encoding.UTF8.GetBytes(TextOf(argument)) : argument.GetProperty("b").GetBytesFromBase64();

    private void WriteHistory(JsonElement body, Utf8JsonWriter json)
    {
        const int mostSeries = 128, mostPoints = 1440, secondsPerDay = 86400;
        string[] names = [.. body.GetProperty("series").EnumerateArray().Take(mostSeries).Select(TextOf)];
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
}
