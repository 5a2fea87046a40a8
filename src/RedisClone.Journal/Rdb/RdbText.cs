using System.Buffers.Text;

namespace RedisClone.Journal.Rdb;

/// <summary>The special forms of strings, and the integers that may be stored in such a form.</summary>
internal static class RdbText
{
    public const byte Int8 = 0xC0;
    public const byte Int16 = 0xC1;
    public const byte Int32 = 0xC2;
    public const byte Compressed = 0xC3;

    /// <summary>Accepts only the canonical text of an integer: no plus sign, no leading zeros, no minus zero.</summary>
    public static bool TryParseInteger(ReadOnlySpan<byte> text, out long number)
    {
        number = 0;
        if (text.Length is 0 or > 20) return false;
        ReadOnlySpan<byte> digits = text[0] == '-' ? text[1..] : text;
        if (digits.IsEmpty || digits[0] is < (byte)'0' or > (byte)'9') return false;
        if (digits[0] == '0') return text.Length == 1;
        return Utf8Parser.TryParse(text, out number, out int used) && used == text.Length;
    }
}
