using System.Buffers;
using System.Buffers.Text;
using System.Globalization;
using System.IO.Pipelines;
using System.Text;
using System.Text.Json;
using System.Text.Unicode;

namespace RedisClone.Server.Studio;

/// <summary>
/// Reads replies (RESP3) and writes them as JSON. A text is a JSON string, a number a JSON number, an array an array. What JSON
/// lacks is an object with one member: <c>b</c> bytes that are no text (base64), <c>o</c> a status, <c>x</c> an error, <c>n</c> a
/// number too long for JSON, <c>m</c> a map as keys and values in turn, <c>s</c> a set.
/// </summary>
internal sealed class ReplyReader(PipeReader input, Utf8JsonWriter json, StudioBudget.Share memory, CancellationToken cancelled)
{
    private const int DeepestReply = 64;
    private const long LargestExact = 1L << 53;     // JSON numbers are doubles in browsers

    public ValueTask CopyAsync() => CopyAsync(0);

    private async ValueTask CopyAsync(int depth)
    {
        if (depth > DeepestReply) throw new IOException("The reply is nested too deeply.");
        byte[] line = await LineAsync();
        char type = line.Length > 0 ? (char)line[0] : '\0';
        string text = type is '+' or '-' or '(' or ',' ? Encoding.UTF8.GetString(line.AsSpan(1)) : "";
        switch (type)
        {
            case '+':
                Tagged("o", text);
                break;
            case '-':
                Tagged("x", text);
                break;
            case '(':
                Tagged("n", text);
                break;
            case ',':
                if (double.TryParse(text, CultureInfo.InvariantCulture, out double number) && double.IsFinite(number)) json.WriteNumberValue(number);
                else Tagged("n", text);
                break;
            case ':':
                long integer = NumberIn(line);
                if (Math.Abs((double)integer) <= LargestExact) json.WriteNumberValue(integer);
                else Tagged("n", integer.ToString(CultureInfo.InvariantCulture));
                break;
            case '#':
                json.WriteBooleanValue(line.Length > 1 && line[1] == 't');
                break;
            case '_':
                json.WriteNullValue();
                break;
            case '$' or '=' or '!':
                await BulkAsync(type, NumberIn(line));
                break;
            case '*' or '~' or '%' or '>' or '|':
                await AggregateAsync(type, NumberIn(line), depth);
                break;
            default:
                throw new IOException("The server sent something that is no reply.");
        }
    }

    private async ValueTask AggregateAsync(char type, long count, int depth)
    {
        if (count < 0)
        {
            json.WriteNullValue();
            return;
        }
        if (type is '%' or '|') count *= 2;
        string? tag = type switch
        {
            '%' or '|' => "m",
            '~' => "s",
            _ => null,
        };
        if (tag is not null)
        {
            json.WriteStartObject();
            json.WritePropertyName(tag);
        }
        json.WriteStartArray();
        for (long i = 0; i < count; i++) await CopyAsync(depth + 1);
        json.WriteEndArray();
        if (tag is not null) json.WriteEndObject();
        // A message or an attribute precedes the reply.
        if (type is '>' or '|' && depth == 0) throw new IOException("The server sent a message.");
    }

    private async ValueTask BulkAsync(char type, long length)
    {
        if (length < 0)
        {
            json.WriteNullValue();
            return;
        }
        memory.Take(length);
        byte[] bytes = new byte[length + 2];
        ReadResult read = await input.ReadAtLeastAsync(bytes.Length, cancelled);
        if (read.Buffer.Length < bytes.Length) throw new IOException("The connection was closed.");
        read.Buffer.Slice(0, bytes.Length).CopyTo(bytes);
        input.AdvanceTo(read.Buffer.GetPosition(bytes.Length));
        ReadOnlyMemory<byte> value = bytes.AsMemory(0, (int)length);
        if (type == '=' && value.Length >= 4) value = value[4..];
        memory.Take(Escapes(value.Span));
        if (type == '!') Tagged("x", Encoding.UTF8.GetString(value.Span));
        else if (Utf8.IsValid(value.Span)) json.WriteStringValue(value.Span);
        else
        {
            json.WriteStartObject();
            json.WriteBase64String("b", value.Span);
            json.WriteEndObject();
        }
    }

    private async ValueTask<byte[]> LineAsync()
    {
        while (true)
        {
            ReadResult read = await input.ReadAsync(cancelled);
            if (read.Buffer.PositionOf((byte)'\n') is { } end)
            {
                byte[] line = read.Buffer.Slice(0, end).ToArray();
                input.AdvanceTo(read.Buffer.GetPosition(1, end));
                memory.Take(line.Length);
                return line[..^1];
            }
            input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
            if (read.IsCompleted || read.IsCanceled) throw new IOException("The connection was closed.");
        }
    }

    /// <summary>The most that the rest of a text takes as JSON, which writes a character that is not plain in six bytes.</summary>
    private static long Escapes(ReadOnlySpan<byte> text)
    {
        const int escape = 6;
        long plain = 0;
        foreach (byte c in text) plain += c is (>= (byte)'0' and <= (byte)'9') or (>= (byte)'A' and <= (byte)'Z') or (>= (byte)'a' and <= (byte)'z') ? 1 : 0;
        return (text.Length - plain) * (escape - 1);
    }

    private void Tagged(string tag, string text)
    {
        json.WriteStartObject();
        json.WriteString(tag, text);
        json.WriteEndObject();
    }

    private static long NumberIn(byte[] line) => Utf8Parser.TryParse(line.AsSpan(1), out long number, out _) ? number : -1;
}
