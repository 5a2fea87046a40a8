using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Reads JSON as lua-cjson does, with the same tolerance for invalid numbers and the same messages. Open tables are on
/// an explicit stack, so deep nesting cannot exhaust the native stack.
/// </summary>
internal ref struct JsonDecoder
{
    /// <summary>
    /// The capacity of the Lua stack in lua-cjson, where a table takes one slot and a pending key another.
    /// </summary>
    private const int MaxSlots = LuaLimits.HostSlots - 4;

    private readonly JsonSettings _settings;
    private readonly ReadOnlySpan<byte> _whole;
    private readonly Stack<Open> _open;

    /// <summary>A zero byte ends the text, as in C.</summary>
    private readonly ReadOnlySpan<byte> _text;

    private int _at;
    private int _slots;

    /// <param name="settings">The settings of the cjson instance.</param>
    /// <param name="open">An empty stack. It is empty again after the call.</param>
    /// <param name="text">The JSON text.</param>
    public JsonDecoder(JsonSettings settings, Stack<Open> open, ReadOnlySpan<byte> text)
    {
        _settings = settings;
        _open = open;
        _whole = text;
        int zero = text.IndexOf((byte)0);
        _text = zero < 0 ? text : text[..zero];
    }

    private enum TokenKind
    {
        ObjectBegin,
        ObjectEnd,
        ArrayBegin,
        ArrayEnd,
        String,
        Number,
        Boolean,
        Null,
        Colon,
        Comma,
        End,
        Error,
    }

    private static readonly string[] s_names =
    [
        "T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL", "T_COLON",
        "T_COMMA", "T_END",
    ];

    private struct Token
    {
        public TokenKind Kind;
        public int Index;
        public LuaValue Value;
        public string? Error;
    }

    /// <summary>An unfinished table: the last index of an array, or the key whose value comes next.</summary>
    internal record struct Open(LuaTable Table, bool IsArray, int Last, LuaValue Key);

    public int Decode(ref LuaCall call)
    {
        try
        {
            return DecodeWhole(ref call);
        }
        finally
        {
            List<LuaTable> building = call.State.Building;
            building.RemoveRange(building.Count - _open.Count, _open.Count);
            _open.Clear();
        }
    }

    private int DecodeWhole(ref LuaCall call)
    {
        if (_whole.Length >= 2 && (_whole[0] == 0 || _whole[1] == 0))
            return call.Error("JSON parser does not support UTF-16 or UTF-32");
        LuaValue value = default;
        Token token = Next(ref call);
        int steps = 0;
        bool complete = BeginValue(ref call, ref token, ref value);
        while (!call.Failed && (!complete || _open.Count > 0))
        {
            if (++steps % 32 == 0 && !call.Spend(8)) return 0;
            // Either a table was just opened and its first element follows, or a value is complete and is added to the
            // innermost table.
            if (complete) Add(ref call, in value);
            if (call.Failed) return 0;
            complete = Continue(ref call, complete, ref value);
        }
        if (call.Failed) return 0;
        token = Next(ref call);
        if (token.Kind != TokenKind.End) return Expected(ref call, "the end", in token);
        return call.Return(value);
    }

    /// <summary>Reads a value. Returns true if it is a single token, or false if it opens a table.</summary>
    private bool BeginValue(ref LuaCall call, ref Token token, ref LuaValue value)
    {
        switch (token.Kind)
        {
            case TokenKind.String or TokenKind.Number or TokenKind.Boolean or TokenKind.Null:
                value = token.Value;
                return true;
            case TokenKind.ObjectBegin or TokenKind.ArrayBegin:
                bool isArray = token.Kind == TokenKind.ArrayBegin;
                int depth = _open.Count + 1;
                if (depth > _settings.DecodeMaxDepth || _slots > MaxSlots)
                {
                    call.Error($"Found too many nested data structures ({depth}) at character {_at}");
                    return true;
                }
                _slots += isArray ? 1 : 2;
                LuaTable table = call.NewTable();
                call.State.BeginBuilding(table);
                _open.Push(new Open(table, isArray, 0, default));
                return false;
            default:
                Expected(ref call, "value", in token);
                return true;
        }
    }

    private readonly void Add(ref LuaCall call, in LuaValue value)
    {
        Open open = _open.Pop();
        if (open.IsArray)
        {
            open.Last++;
            call.Store(open.Table, open.Last, in value);
        }
        else
        {
            call.Store(open.Table, open.Key, value);
        }
        _open.Push(open);
    }

    /// <summary>Reads the innermost open table up to its next value or its end.</summary>
    private bool Continue(ref LuaCall call, bool afterValue, ref LuaValue value)
    {
        Open open = _open.Peek();
        Token token = Next(ref call);
        if (token.Kind == (open.IsArray ? TokenKind.ArrayEnd : TokenKind.ObjectEnd))
        {
            _open.Pop();
            call.State.EndBuilding();
            _slots -= open.IsArray ? 1 : 2;
            value = open.Table;
            return true;
        }
        if (afterValue)
        {
            if (token.Kind != TokenKind.Comma)
            {
                Expected(ref call, open.IsArray ? "comma or array end" : "comma or object end", in token);
                return true;
            }
            token = Next(ref call);
        }
        if (!open.IsArray)
        {
            if (token.Kind != TokenKind.String)
            {
                Expected(ref call, "object key string", in token);
                return true;
            }
            _open.Pop();
            _open.Push(open with { Key = token.Value });
            token = Next(ref call);
            if (token.Kind != TokenKind.Colon)
            {
                Expected(ref call, "colon", in token);
                return true;
            }
            token = Next(ref call);
        }
        return BeginValue(ref call, ref token, ref value);
    }

    private static int Expected(ref LuaCall call, string what, in Token token) =>
        call.Error($"Expected {what} but found {token.Error ?? s_names[(int)token.Kind]} at character {token.Index + 1}");

    // ---- Tokens

    private readonly byte Peek(int offset) => _at + offset < _text.Length ? _text[_at + offset] : (byte)0;

    private Token Next(ref LuaCall call)
    {
        while (Peek(0) is (byte)' ' or (byte)'\t' or (byte)'\n' or (byte)'\r') _at++;
        Token token = new() { Index = _at };
        if (_at >= _text.Length)
        {
            token.Kind = TokenKind.End;
            return token;
        }
        TokenKind? single = _text[_at] switch
        {
            (byte)'{' => TokenKind.ObjectBegin,
            (byte)'}' => TokenKind.ObjectEnd,
            (byte)'[' => TokenKind.ArrayBegin,
            (byte)']' => TokenKind.ArrayEnd,
            (byte)',' => TokenKind.Comma,
            (byte)':' => TokenKind.Colon,
            _ => null,
        };
        if (single is { } kind)
        {
            _at++;
            token.Kind = kind;
            return token;
        }
        ReadValue(ref call, ref token);
        return token;
    }

    private void ReadValue(ref LuaCall call, ref Token token)
    {
        byte c = _text[_at];
        ReadOnlySpan<byte> rest = _text[_at..];
        if (c == '"')
        {
            ReadString(ref call, ref token);
        }
        else if (c == '-' || char.IsAsciiDigit((char)c))
        {
            if (_settings.DecodeInvalidNumbers == 0 && IsInvalidNumber(rest)) Fail(ref token, "invalid number");
            else ReadNumber(ref token);
        }
        else if (rest.StartsWith("true"u8))
        {
            Word(ref token, TokenKind.Boolean, true, 4);
        }
        else if (rest.StartsWith("false"u8))
        {
            Word(ref token, TokenKind.Boolean, false, 5);
        }
        else if (rest.StartsWith("null"u8))
        {
            Word(ref token, TokenKind.Null, LuaUserData.NullPointer, 4);
        }
        else if (_settings.DecodeInvalidNumbers != 0 && "iInN+"u8.Contains(c) && IsInvalidNumber(rest))
        {
            ReadNumber(ref token);
        }
        else
        {
            Fail(ref token, "invalid token");
        }
    }

    private void Word(ref Token token, TokenKind kind, LuaValue value, int length)
    {
        token.Kind = kind;
        token.Value = value;
        _at += length;
    }

    private void ReadNumber(ref Token token)
    {
        int used = LuaNumber.ParsePrefix(_text[_at..], out double number);
        if (used == 0)
        {
            Fail(ref token, "invalid number");
            return;
        }
        Word(ref token, TokenKind.Number, number, used);
    }

    /// <summary>
    /// Returns true for a number that C accepts and JSON does not: with a plus sign or leading zeros, hexadecimal,
    /// infinite or NaN.
    /// </summary>
    private static bool IsInvalidNumber(ReadOnlySpan<byte> text)
    {
        if (text[0] == '+') return true;
        if (text[0] == '-') text = text[1..];
        if (text.Length == 0) return false;
        if (text[0] == '0') return text.Length > 1 && ((text[1] | 0x20) == 'x' || char.IsAsciiDigit((char)text[1]));
        if (text[0] <= '9') return false;
        return text.Length >= 3 && (IsWord(text, "inf"u8) || IsWord(text, "nan"u8));
    }

    private static bool IsWord(ReadOnlySpan<byte> text, ReadOnlySpan<byte> lower) =>
        (text[0] | 0x20) == lower[0] && (text[1] | 0x20) == lower[1] && (text[2] | 0x20) == lower[2];

    private void ReadString(ref LuaCall call, ref Token token)
    {
        _at++;
        ReadOnlySpan<byte> rest = _text[_at..];
        int end = rest.IndexOfAny((byte)'"', (byte)'\\');
        if (end >= 0 && rest[end] == '"')
        {
            _at += end + 1;
            Finish(ref call, ref token, rest[..end]);
            return;
        }
        var text = new TextBuilder(call.Meter);
        bool valid = true;
        while (valid && end >= 0 && rest[end] == '\\')
        {
            text.Append(rest[..end]);
            _at += end;
            valid = ReadEscape(ref token, ref text);
            rest = _text[_at..];
            end = rest.IndexOfAny((byte)'"', (byte)'\\');
        }
        if (valid && end < 0)
        {
            _at = _text.Length;
            Fail(ref token, "unexpected end of string");
        }
        else if (valid)
        {
            text.Append(rest[..end]);
            _at += end + 1;
            if (text.Overflowed) call.OutOfMemory();
            Finish(ref call, ref token, text.Written);
        }
        text.Dispose();
    }

    private static void Finish(ref LuaCall call, ref Token token, scoped ReadOnlySpan<byte> bytes)
    {
        LuaString? s = call.State.TryNewString(bytes);
        if (s is null) call.OutOfMemory();
        token.Kind = TokenKind.String;
        token.Value = s;
    }

    private bool ReadEscape(ref Token token, ref TextBuilder text)
    {
        byte c = Peek(1);
        switch (c)
        {
            case (byte)'"' or (byte)'\\' or (byte)'/':
                break;
            case (byte)'b':
                c = 8;
                break;
            case (byte)'t':
                c = 9;
                break;
            case (byte)'n':
                c = 10;
                break;
            case (byte)'f':
                c = 12;
                break;
            case (byte)'r':
                c = 13;
                break;
            case (byte)'u':
                if (ReadUnicode(ref text)) return true;
                Fail(ref token, "invalid unicode escape code");
                return false;
            default:
                Fail(ref token, "invalid escape code");
                return false;
        }
        text.Append(c);
        _at += 2;
        return true;
    }

    private bool ReadUnicode(ref TextBuilder text)
    {
        int code = ReadHex(2), length = 6;
        if (code < 0) return false;
        if ((code & 0xF800) == 0xD800)
        {
            if ((code & 0x400) != 0 || Peek(6) != '\\' || Peek(7) != 'u') return false;
            int low = ReadHex(8);
            if (low < 0 || (low & 0xFC00) != 0xDC00) return false;
            code = (((code & 0x3FF) << 10) | (low & 0x3FF)) + 0x10000;
            length = 12;
        }
        Span<byte> utf8 = stackalloc byte[4];
        text.Append(utf8[..new System.Text.Rune(code).EncodeToUtf8(utf8)]);
        _at += length;
        return true;
    }

    private readonly int ReadHex(int offset)
    {
        int value = 0;
        for (int i = 0; i < 4; i++)
        {
            int digit = LuaNumber.HexDigit(Peek(offset + i));
            if (digit >= 16) return -1;
            value = (value << 4) | digit;
        }
        return value;
    }

    private readonly void Fail(ref Token token, string error)
    {
        token.Kind = TokenKind.Error;
        token.Index = _at;
        token.Error = error;
    }
}
