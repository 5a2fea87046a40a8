using System.Globalization;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary><c>string.format</c>: the printf of C with the restrictions of Lua 5.1.</summary>
internal static class StringFormat
{
    private const int LongString = 100;

    public static int Format(ref LuaCall call)
    {
        LuaString format = call.CheckString(1);
        if (call.Failed) return 0;
        var text = new TextBuilder(call.Meter, format.Length + 32);
        ReadOnlySpan<byte> rest = format.Span;
        int argument = 1;
        while (!call.Failed)
        {
            int percent = rest.IndexOf((byte)'%');
            text.Append(percent < 0 ? rest : rest[..percent]);
            if (percent < 0) return text.Return(ref call);
            rest = rest[(percent + 1)..];
            if (rest.Length > 0 && rest[0] == '%')
            {
                text.Append((byte)'%');
                rest = rest[1..];
                continue;
            }
            argument++;
            if (argument > call.Count) call.ArgumentError(argument, "no value");
            else rest = rest[FormatItem(ref call, ref text, rest, argument)..];
        }
        text.Dispose();
        return 0;
    }

    /// <summary>Formats one argument. Returns the length of its item in the format string.</summary>
    private static int FormatItem(ref LuaCall call, ref TextBuilder text, scoped ReadOnlySpan<byte> format, int argument)
    {
        if (!TryParse(ref call, format, out Item item)) return 0;
        byte conversion = item.Length < format.Length ? format[item.Length] : (byte)0;
        switch (conversion)
        {
            case (byte)'c':
                FormatCharacter(ref text, in item, (byte)LuaNumber.ToInt32(call.CheckNumber(argument)));
                break;
            case (byte)'d' or (byte)'i':
                FormatSigned(ref text, in item, LuaNumber.ToInt64(call.CheckNumber(argument)));
                break;
            case (byte)'o' or (byte)'u' or (byte)'x' or (byte)'X':
                FormatUnsigned(ref text, in item, LuaNumber.ToUInt64(call.CheckNumber(argument)), conversion);
                break;
            case (byte)'e' or (byte)'E' or (byte)'f' or (byte)'g' or (byte)'G':
                FormatDouble(ref text, in item, call.CheckNumber(argument), conversion);
                break;
            case (byte)'q':
                AppendQuoted(ref text, call.CheckString(argument).Span);
                break;
            case (byte)'s':
                LuaString s = call.CheckString(argument);
                call.Meter.Work(s.Length);
                FormatString(ref text, in item, s.Span);
                break;
            default:
                call.Error($"invalid option '%{(conversion == 0 ? "" : (char)conversion)}' to 'format'");
                return 0;
        }
        return item.Length + 1;
    }

    private struct Item
    {
        public bool Left, Plus, Space, Alternate, Zero;
        public int Width;

        /// <summary>-1 if the item has no precision.</summary>
        public int Precision;
        public int Length;
    }

    private static bool TryParse(ref LuaCall call, scoped ReadOnlySpan<byte> format, out Item item)
    {
        item = new Item { Precision = -1 };
        int at = 0;
        for (; at < format.Length && "-+ #0"u8.Contains(format[at]); at++)
        {
            switch (format[at])
            {
                case (byte)'-':
                    item.Left = true;
                    break;
                case (byte)'+':
                    item.Plus = true;
                    break;
                case (byte)' ':
                    item.Space = true;
                    break;
                case (byte)'#':
                    item.Alternate = true;
                    break;
                default:
                    item.Zero = true;
                    break;
            }
        }
        if (at > 5)
        {
            call.Error("invalid format (repeated flags)");
            return false;
        }
        item.Width = TwoDigits(format, ref at);
        if (at < format.Length && format[at] == '.')
        {
            at++;
            item.Precision = TwoDigits(format, ref at);
        }
        if (at < format.Length && char.IsAsciiDigit((char)format[at]))
        {
            call.Error("invalid format (width or precision too long)");
            return false;
        }
        item.Length = at;
        return true;
    }

    private static int TwoDigits(ReadOnlySpan<byte> format, ref int at)
    {
        int value = 0;
        for (int i = 0; i < 2 && at < format.Length && char.IsAsciiDigit((char)format[at]); i++)
            value = (value * 10) + format[at++] - '0';
        return value;
    }

    private static void FormatCharacter(ref TextBuilder text, in Item item, byte c)
    {
        // The output of C ends at a zero byte.
        if (c != 0) Pad(ref text, in item, [c], item.Width);
        else if (!item.Left) text.Append((byte)' ', Math.Max(0, item.Width - 1));
    }

    private static void FormatSigned(ref TextBuilder text, in Item item, long value)
    {
        Span<byte> digits = stackalloc byte[24];
        ulong magnitude = value < 0 ? unchecked(0 - (ulong)value) : (ulong)value;
        magnitude.TryFormat(digits, out int count, default, CultureInfo.InvariantCulture);
        ReadOnlySpan<byte> sign = value < 0 ? "-"u8 : item.Plus ? "+"u8 : item.Space ? " "u8 : default;
        PadInteger(ref text, in item, sign, value == 0 && item.Precision == 0 ? [] : digits[..count]);
    }

    private static void FormatUnsigned(ref TextBuilder text, in Item item, ulong value, byte conversion)
    {
        Span<byte> digits = stackalloc byte[32];
        int count = 0;
        if (conversion == 'o')
        {
            for (ulong rest = value; rest != 0 || count == 0; rest >>= 3) digits[count++] = (byte)('0' + (rest & 7));
            if (item.Alternate && digits[count - 1] != '0' && item.Precision <= count) digits[count++] = (byte)'0';
            digits[..count].Reverse();
        }
        else
        {
            value.TryFormat(
                digits,
                out count,
                conversion == 'u' ? default : conversion == 'x' ? "x" : "X",
                CultureInfo.InvariantCulture);
        }
        bool prefixed = item.Alternate && value != 0 && (conversion | 0x20) == 'x';
        ReadOnlySpan<byte> prefix = !prefixed ? default : conversion == 'x' ? "0x"u8 : "0X"u8;
        bool nothing = value == 0 && item.Precision == 0 && !(conversion == 'o' && item.Alternate);
        PadInteger(ref text, in item, prefix, nothing ? [] : digits[..count]);
    }

    private static void FormatDouble(ref TextBuilder text, in Item item, double value, byte conversion)
    {
        Span<byte> digits = stackalloc byte[NumberText.MaxText];
        int precision = item.Precision < 0 ? 6 : item.Precision;
        bool upper = conversion is (byte)'E' or (byte)'G';
        int count = (conversion | 0x20) switch
        {
            'e' => NumberText.FormatExponential(value, precision, item.Alternate, upper, digits),
            'g' => NumberText.FormatGeneral(value, precision, item.Alternate, upper, digits),
            _ => NumberText.FormatFixed(value, precision, item.Alternate, digits),
        };
        ReadOnlySpan<byte> body = digits[..count];
        ReadOnlySpan<byte> sign = item.Plus ? "+"u8 : item.Space ? " "u8 : default;
        if (body[0] == '-')
        {
            sign = "-"u8;
            body = body[1..];
        }
        int missing = Math.Max(0, item.Width - sign.Length - body.Length);
        bool zeros = item.Zero && !item.Left && double.IsFinite(value);
        if (!zeros && !item.Left) text.Append((byte)' ', missing);
        text.Append(sign);
        if (zeros) text.Append((byte)'0', missing);
        text.Append(body);
        if (item.Left) text.Append((byte)' ', missing);
    }

    private static void PadInteger(
        ref TextBuilder text, in Item item, scoped ReadOnlySpan<byte> prefix, scoped ReadOnlySpan<byte> digits)
    {
        int zeros = Math.Max(0, item.Precision - digits.Length);
        int missing = Math.Max(0, item.Width - prefix.Length - zeros - digits.Length);
        if (item.Zero && !item.Left && item.Precision < 0)
        {
            zeros += missing;
            missing = 0;
        }
        if (!item.Left) text.Append((byte)' ', missing);
        text.Append(prefix);
        text.Append((byte)'0', zeros);
        text.Append(digits);
        if (item.Left) text.Append((byte)' ', missing);
    }

    private static void FormatString(ref TextBuilder text, in Item item, scoped ReadOnlySpan<byte> s)
    {
        // Lua appends a long string without precision as it is. All other strings pass through C, which stops at a zero
        // byte.
        if (item.Precision < 0 && s.Length >= LongString)
        {
            text.Append(s);
            return;
        }
        int zero = s.IndexOf((byte)0);
        if (zero >= 0) s = s[..zero];
        if (item.Precision >= 0 && s.Length > item.Precision) s = s[..item.Precision];
        Pad(ref text, in item, s, item.Width);
    }

    private static void Pad(ref TextBuilder text, in Item item, scoped ReadOnlySpan<byte> body, int width)
    {
        int missing = Math.Max(0, width - body.Length);
        if (!item.Left) text.Append((byte)' ', missing);
        text.Append(body);
        if (item.Left) text.Append((byte)' ', missing);
    }

    private static void AppendQuoted(ref TextBuilder text, scoped ReadOnlySpan<byte> s)
    {
        text.Append((byte)'"');
        foreach (byte c in s)
        {
            switch (c)
            {
                case (byte)'"' or (byte)'\\' or (byte)'\n':
                    text.Append((byte)'\\');
                    text.Append(c);
                    break;
                case (byte)'\r':
                    text.Append("\\r"u8);
                    break;
                case 0:
                    text.Append("\\000"u8);
                    break;
                default:
                    text.Append(c);
                    break;
            }
        }
        text.Append((byte)'"');
    }
}
