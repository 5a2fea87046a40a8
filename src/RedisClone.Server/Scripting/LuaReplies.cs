using System.Globalization;
using System.Text;
using RedisClone.Lua;
using RedisClone.Protocol;

namespace RedisClone.Server.Scripting;

/// <summary>Replies of commands as Lua values, and what a script returns as a reply, by Redis's table of conversions.</summary>
internal sealed class LuaReplies(LuaState state)
{
    /// <summary>Deeper nesting of tables is cut with Redis's error, as nothing else bounds what a script returns.</summary>
    private const int MaxDepth = 128;

    private readonly LuaString _ok = state.Name("ok"), _err = state.Name("err"), _double = state.Name("double"), _map = state.Name("map"),
        _set = state.Name("set"), _bigNumber = state.Name("big_number"), _verbatim = state.Name("verbatim_string"), _format = state.Name("format"),
        _string = state.Name("string");

    public LuaString Err => _err;

    public LuaString Ok => _ok;

    // ---- RESP to Lua

    /// <summary>Converts one encoded reply; null where the script's memory does not suffice.</summary>
    public LuaValue? ToLua(ReadOnlySpan<byte> reply)
    {
        int at = 0;
        return Read(reply, ref at, 0);
    }

    private LuaValue? Read(ReadOnlySpan<byte> reply, ref int at, int depth)
    {
        byte type = reply[at++];
        int end = at + reply[at..].IndexOf((byte)'\r');
        ReadOnlySpan<byte> line = reply[at..end];
        at = end + 2;
        switch (type)
        {
            case (byte)':':
                return new LuaValue((double)Number(line));
            case (byte)'+':
                return Field(_ok, String(line));
            case (byte)'-':
                return Field(_err, String(line));
            case (byte)'_':
                return LuaValue.Nil;
            case (byte)'#':
                return new LuaValue(line[0] == 't');
            case (byte)',':
                return RedisNumber.TryParseDouble(line, out double number) ? Field(_double, new LuaValue(number)) : Field(_double, new LuaValue(double.NaN));
            case (byte)'(':
                return Field(_bigNumber, String(line));
            case (byte)'$' or (byte)'=':
                return Bulk(type, reply, line, ref at);
            default:
                return Aggregate(type, Number(line), reply, ref at, depth);
        }
    }

    private LuaValue? Bulk(byte type, ReadOnlySpan<byte> reply, ReadOnlySpan<byte> line, ref int at)
    {
        long length = Number(line);
        if (length < 0) return new LuaValue(false);
        ReadOnlySpan<byte> text = reply.Slice(at, (int)length);
        at += (int)length + 2;
        if (type == '$') return String(text);
        LuaTable? inner = state.TryNewTable(0, 2);
        if (inner is null || String(text[..3]) is not { } format || String(text[4..]) is not { } content) return null;
        if (!state.TrySet(inner, _format, format) || !state.TrySet(inner, _string, content)) return null;
        return Field(_verbatim, inner);
    }

    private LuaValue? Aggregate(byte type, long count, ReadOnlySpan<byte> reply, ref int at, int depth)
    {
        if (count < 0) return new LuaValue(false);
        bool pairs = type is (byte)'%' or (byte)'|';
        LuaTable? table = state.TryNewTable(pairs || type == '~' ? 0 : (int)Math.Min(count, 1 << 20), 0);
        if (table is null) return null;
        for (int i = 1; i <= count; i++)
        {
            if (Read(reply, ref at, depth + 1) is not { } item) return null;
            LuaValue key = new((double)i), value = item;
            if (pairs)
            {
                if (Read(reply, ref at, depth + 1) is not { } second) return null;
                (key, value) = (item, second);
            }
            else if (type == '~')
            {
                (key, value) = (item, new LuaValue(true));
            }
            if (!value.IsNil && !key.IsNil && !state.TrySet(table, key, value)) return null;
        }
        // Attributes are read over: the reply that they describe follows.
        if (type == '|') return Read(reply, ref at, depth);
        return type switch
        {
            (byte)'%' => Field(_map, table),
            (byte)'~' => Field(_set, table),
            _ => table,
        };
    }

    private LuaValue? String(ReadOnlySpan<byte> bytes) => state.TryNewString(bytes) is { } text ? text : (LuaValue?)null;

    private LuaValue? Field(LuaString name, LuaValue? value)
    {
        LuaTable? table = state.TryNewTable(0, 1);
        return table is not null && value is { } there && state.TrySet(table, name, there) ? table : (LuaValue?)null;
    }

    private static long Number(ReadOnlySpan<byte> line) => RedisNumber.TryParseInt64(line, out long value) ? value : 0;

    // ---- Lua to RESP

    /// <summary>Writes what a script returned.</summary>
    public void Write(ReplyWriter reply, LuaValue value) => Write(reply, value, 0);

    private void Write(ReplyWriter reply, LuaValue value, int depth)
    {
        if (depth > MaxDepth)
        {
            reply.Error("ERR reached lua stack limit");
            return;
        }
        switch (value.Type)
        {
            case LuaType.String:
                reply.Bulk(value.AsString!.Span);
                break;
            case LuaType.Number:
                reply.Integer(ToInteger(value.AsNumber));
                break;
            case LuaType.Boolean when reply.Version >= 3:
                reply.Bool(value.IsTrue);
                break;
            case LuaType.Boolean when value.IsTrue:
                reply.Integer(1);
                break;
            case LuaType.Table:
                WriteTable(reply, value.AsTable!, depth);
                break;
            default:
                reply.Null();
                break;
        }
    }

    private void WriteTable(ReplyWriter reply, LuaTable table, int depth)
    {
        if (table[_err].AsString is { } error)
        {
            reply.Error(ErrorText(error.Span));
        }
        else if (table[_ok].AsString is { } status)
        {
            reply.SimpleString(Encoding.Latin1.GetBytes(status.ToString().Replace('\r', ' ').Replace('\n', ' ')));
        }
        else if (table[_double].Type == LuaType.Number)
        {
            reply.Double(table[_double].AsNumber);
        }
        else if (table[_map].AsTable is { } map)
        {
            DeferredReply deferred = reply.BeginDeferred();
            reply.EndMap(deferred, WritePairs(reply, map, depth, values: true));
        }
        else if (table[_set].AsTable is { } set)
        {
            DeferredReply deferred = reply.BeginDeferred();
            reply.EndSet(deferred, WritePairs(reply, set, depth, values: false));
        }
        else if (table[_bigNumber].AsString is { } big)
        {
            reply.BigNumber(big.Span);
        }
        else if (table[_verbatim].AsTable is { } verbatim && verbatim[_format].AsString is { Length: 3 } format && verbatim[_string].AsString is { } text)
        {
            reply.Verbatim(format.Span, text.Span);
        }
        else
        {
            DeferredReply deferred = reply.BeginDeferred();
            long count = 0;
            for (int i = 1; !table[i].IsNil; i++, count++) Write(reply, table[i], depth + 1);
            reply.EndArray(deferred, count);
        }
    }

    private long WritePairs(ReplyWriter reply, LuaTable table, int depth, bool values)
    {
        long count = 0;
        foreach ((LuaValue key, LuaValue value) in table.Pairs())
        {
            Write(reply, key, depth + 1);
            if (values) Write(reply, value, depth + 1);
            count++;
        }
        return count;
    }

    /// <summary>An error's text, without the dash that a script may have put before its code.</summary>
    public static byte[] ErrorText(ReadOnlySpan<byte> text)
    {
        string words = Encoding.Latin1.GetString(text);
        return Encoding.Latin1.GetBytes(words.StartsWith('-') ? words[1..] : words);
    }

    private static long ToInteger(double number) =>
        double.IsNaN(number) ? 0 : number >= long.MaxValue ? long.MaxValue : number <= long.MinValue ? long.MinValue : (long)number;

    /// <summary>A number as an argument of a command: %.17g, integers without a point.</summary>
    public static string Argument(double number) => number == Math.Floor(number) && Math.Abs(number) < 1e15
        ? ((long)number).ToString(CultureInfo.InvariantCulture)
        : number.ToString("G17", CultureInfo.InvariantCulture);
}
