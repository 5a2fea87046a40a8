using RedisClone.Lua.Running;
using RedisClone.Lua.Values;
using RedisClone.Protocol;

namespace RedisClone.Engine.Scripting;

/// <summary>Converts replies of commands to Lua values, by Redis's conversion table.</summary>
internal sealed class ReplyToLua(LuaState state, ReplyFields fields)
{
    /// <summary>The largest initial capacity of an array.</summary>
    private const int FirstArray = 1 << 20;

    /// <summary>Converts one encoded reply. Returns null if the script has not enough memory.</summary>
    public LuaValue? Convert(ReadOnlySpan<byte> reply)
    {
        int at = 0;
        return Read(reply, ref at);
    }

    /// <summary>Converts an error to the table that scripts expect. The table marks the error as counted.</summary>
    public LuaTable? Error(ReadOnlySpan<byte> text)
    {
        LuaTable? table = state.TryNewTable(0, 2);
        if (table is null || String(text) is not { } message) return null;
        return state.TrySet(table, fields.Err, message) && state.TrySet(table, fields.IgnoreStatistics, new LuaValue(true)) ? table : null;
    }

    // Replies of commands are nested only a few levels deep, which limits this recursion.
    private LuaValue? Read(ReadOnlySpan<byte> reply, ref int at)
    {
        byte type = reply[at++];
        int end = at + reply[at..].IndexOf((byte)'\r');
        ReadOnlySpan<byte> line = reply[at..end];
        at = end + 2;
        switch (type)
        {
            case (byte)':':
                return new LuaValue((double)Number(line));
            case (byte)'$' or (byte)'=':
                return Bulk(type, reply, line, ref at);
            case (byte)'+':
                return Field(fields.Ok, String(line));
            case (byte)'-':
                return Error(line) is { } error ? error : (LuaValue?)null;
            case (byte)'_':
                return LuaValue.Nil;
            case (byte)'#':
                return new LuaValue(line[0] == 't');
            case (byte)',':
                return Field(fields.Double, new LuaValue(RedisNumber.TryParseDouble(line, out double number) ? number : double.NaN));
            case (byte)'(':
                return Field(fields.BigNumber, String(line));
            default:
                return Aggregate(type, Number(line), reply, ref at);
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
        if (!state.TrySet(inner, fields.Format, format) || !state.TrySet(inner, fields.String, content)) return null;
        return Field(fields.Verbatim, inner);
    }

    private LuaValue? Aggregate(byte type, long count, ReadOnlySpan<byte> reply, ref int at)
    {
        if (count < 0) return new LuaValue(false);
        bool pairs = type is (byte)'%' or (byte)'|';
        LuaTable? table = state.TryNewTable(pairs || type == '~' ? 0 : (int)Math.Min(count, FirstArray), 0);
        if (table is null) return null;
        state.BeginBuilding(table);
        bool filled = TryFill(table, type, pairs, count, reply, ref at);
        state.EndBuilding();
        if (!filled) return null;
        // Attributes are skipped. The reply that they describe follows.
        if (type == '|') return Read(reply, ref at);
        return type switch
        {
            (byte)'%' => Field(fields.Map, table),
            (byte)'~' => Field(fields.Set, table),
            _ => table,
        };
    }

    private bool TryFill(LuaTable table, byte type, bool pairs, long count, ReadOnlySpan<byte> reply, ref int at)
    {
        for (int i = 1; i <= count; i++)
        {
            if (Read(reply, ref at) is not { } item) return false;
            LuaValue key = new((double)i), value = item;
            if (pairs)
            {
                if (Read(reply, ref at) is not { } second) return false;
                (key, value) = (item, second);
            }
            else if (type == '~')
            {
                (key, value) = (item, new LuaValue(true));
            }
            if (!value.IsNil && !key.IsNil && !state.TrySet(table, key, value)) return false;
        }
        return true;
    }

    private LuaValue? String(ReadOnlySpan<byte> bytes) => state.TryNewString(bytes) is { } text ? text : (LuaValue?)null;

    private LuaValue? Field(LuaString name, LuaValue? value)
    {
        LuaTable? table = state.TryNewTable(0, 1);
        return table is not null && value is { } there && state.TrySet(table, name, there) ? table : (LuaValue?)null;
    }

    private static long Number(ReadOnlySpan<byte> line) => RedisNumber.TryParseInt64(line, out long value) ? value : 0;
}
