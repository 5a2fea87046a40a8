using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using Microsoft.Extensions.Logging;
using RedisClone.Engine;

namespace RedisClone.Admin.Log;

/// <summary>The content of one log line, independent of the format.</summary>
/// <param name="Role">M for a primary, S for a replica.</param>
/// <param name="Time">The local time.</param>
/// <param name="Level">The severity.</param>
/// <param name="Message">The complete message.</param>
/// <param name="Parts">The arguments of the message by name, and the message template.</param>
internal readonly record struct LogEvent(char Role, DateTime Time, LogLevel Level, string Message, IReadOnlyList<KeyValuePair<string, object?>> Parts)
{
    private const string SentenceWithoutParts = "{OriginalFormat}";

    private static readonly JsonWriterOptions s_json = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>
    /// Limits the length of a text, because texts from clients may be of any length. Does not split a surrogate pair.
    /// </summary>
    public static string Bounded(string text) =>
        text.Length <= Limits.LogText ? text : text[..(char.IsHighSurrogate(text[Limits.LogText - 1]) ? Limits.LogText - 1 : Limits.LogText)];

    /// <summary>The text of an exception, or its type if the text cannot be read.</summary>
    public static string TextOf(Exception exception)
    {
        try
        {
            return exception.ToString();
        }
        catch (Exception e)
        {
            return $"{exception.GetType().FullName} (its text cannot be read: {e.GetType().Name})";
        }
    }

    /// <summary>
    /// Redis's format: `pid:M 21 Nov 2026 14:00:00.000 * text`. Tools that wait for a server to be ready parse this format.
    /// </summary>
    public string ToText()
    {
        char mark = Level switch
        {
            LogLevel.Trace or LogLevel.Debug => '.',
            LogLevel.Information => '*',
            _ => '#',
        };
        return string.Create(CultureInfo.InvariantCulture, $"{Environment.ProcessId}:{Role} {Time:dd MMM yyyy HH:mm:ss.fff} {mark} {Message}\n");
    }

    /// <summary>One JSON object per line: time (UTC), level, pid, message, and the message arguments under fields.</summary>
    public string ToJson()
    {
        var line = new ArrayBufferWriter<byte>(256);
        using (var json = new Utf8JsonWriter(line, s_json))
        {
            json.WriteStartObject();
            json.WriteString("time"u8, Time.ToUniversalTime().ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture));
            json.WriteString("level"u8, NameOf(Level));
            json.WriteNumber("pid"u8, Environment.ProcessId);
            json.WriteString("message"u8, Message);
            json.WriteStartObject("fields"u8);
            foreach ((string name, object? value) in Parts)
                if (name != SentenceWithoutParts) Write(json, name, value);
            json.WriteEndObject();
            json.WriteEndObject();
        }
        return Encoding.UTF8.GetString(line.WrittenSpan) + '\n';
    }

    private static void Write(Utf8JsonWriter json, string name, object? value)
    {
        json.WritePropertyName(JsonNamingPolicy.CamelCase.ConvertName(name));
        if (value is int or long or uint) json.WriteNumberValue(Convert.ToInt64(value, CultureInfo.InvariantCulture));
        else json.WriteStringValue(Bounded(Convert.ToString(value, CultureInfo.InvariantCulture) ?? ""));
    }

    private static string NameOf(LogLevel level) => level switch
    {
        LogLevel.Trace => "debug",
        LogLevel.Debug => "verbose",
        LogLevel.Information => "notice",
        LogLevel.Warning => "warning",
        _ => "error",
    };
}
