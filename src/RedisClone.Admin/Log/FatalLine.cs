using System.Globalization;
using System.Text.Unicode;
using RedisClone.Engine;

namespace RedisClone.Admin.Log;

/// <summary>
/// Formats the last line before a fatal end in buffers that are allocated at the start, because memory may be exhausted.
/// </summary>
internal sealed class FatalLine
{
    private const int MaxEscape = 6;    // \u001f

    private readonly byte[] _text = new byte[Limits.FatalLine];
    private readonly byte[] _line = new byte[Limits.FatalLine * 2];
    private int _length;

    /// <summary>Runs all code of this class once, so that a fatal end needs neither to load nor to compile it.</summary>
    public void WarmUp()
    {
        Make('M', "", new InvalidOperationException(), json: false);
        Make('M', "", null, json: true);
    }

    public ReadOnlySpan<byte> Make(char role, string why, Exception? cause, bool json)
    {
        int length = 0;
        Add(_text, ref length, "Fatal: ");
        Add(_text, ref length, why);
        if (Thread.CurrentThread.Name is { Length: > 0 } thread)
        {
            Add(_text, ref length, " (thread ");
            Add(_text, ref length, thread);
            Add(_text, ref length, ")");
        }
        if (cause is not null)
        {
            Add(_text, ref length, ": ");
            Add(_text, ref length, TextOf(cause, message: false));
            Add(_text, ref length, ": ");
            Add(_text, ref length, TextOf(cause, message: true));
        }
        ReadOnlySpan<byte> text = _text.AsSpan(0, length);
        _length = 0;
        if (json) MakeJson(text);
        else MakeText(role, text);
        _line[_length++] = (byte)'\n';
        return _line.AsSpan(0, _length);
    }

    private void MakeText(char role, ReadOnlySpan<byte> text)
    {
        AddNumber(Environment.ProcessId);
        _line[_length++] = (byte)':';
        _line[_length++] = (byte)role;
        _line[_length++] = (byte)' ';
        AddTime(utc: false, "dd MMM yyyy HH:mm:ss.fff");
        Add(_line, ref _length, " # ");
        foreach (byte one in text) _line[_length++] = one < ' ' ? (byte)' ' : one;
    }

    private void MakeJson(ReadOnlySpan<byte> text)
    {
        Add(_line, ref _length, "{\"time\":\"");
        AddTime(utc: true, "yyyy-MM-ddTHH:mm:ss.fffZ");
        Add(_line, ref _length, "\",\"level\":\"error\",\"pid\":");
        AddNumber(Environment.ProcessId);
        Add(_line, ref _length, ",\"message\":\"");
        foreach (byte one in text)
        {
            if (_length > _line.Length - 16 - MaxEscape) break;
            if (one is (byte)'"' or (byte)'\\') _line[_length++] = (byte)'\\';
            _line[_length++] = one < ' ' ? (byte)' ' : one;
        }
        Add(_line, ref _length, "\",\"fields\":{}}");
    }

    private void AddNumber(int number)
    {
        if (number.TryFormat(_line.AsSpan(_length), out int written, default, CultureInfo.InvariantCulture)) _length += written;
    }

    /// <summary>The system time zone may be unreadable.</summary>
    private void AddTime(bool utc, string format)
    {
        try
        {
            DateTime now = utc ? DateTime.UtcNow : DateTime.Now;
            if (now.TryFormat(_line.AsSpan(_length), out int written, format, CultureInfo.InvariantCulture)) _length += written;
        }
        catch (Exception)
        {
            // The line is written without a time.
        }
    }

    /// <summary>The members of an exception may throw.</summary>
    private static string TextOf(Exception cause, bool message)
    {
        try
        {
            return (message ? cause.Message : cause.GetType().Name) ?? "";
        }
        catch (Exception)
        {
            return "?";
        }
    }

    /// <summary>Truncates a text that does not fit, at a character boundary.</summary>
    private static void Add(byte[] to, ref int length, string text)
    {
        _ = Utf8.FromUtf16(text, to.AsSpan(length), out _, out int written);
        length += written;
    }
}
