using RedisClone.Lua.Values;
using RedisClone.Memory;
using RedisClone.Protocol;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// Writes the result of a script as a reply, by Redis's conversion table. Scripts may nest tables to any depth, so the open
/// tables are on an explicit stack.
/// </summary>
internal sealed class LuaToReply(ReplyFields fields)
{
    /// <summary>The depth limit of Redis.</summary>
    private const int MaxDepth = 8000;

    private const int UsualDepth = 16;

    /// <summary>The empty slots of a table that take about as long as an element of the reply.</summary>
    private const int SlotsPerElement = 16;

    private Open[] _open = new Open[UsualDepth];
    private int _depth;
    private long _end, _elements;
    private bool _isTooLong;

    /// <summary>The number of errors in the last value that the failed commands have already counted.</summary>
    public int CountedErrors { get; private set; }

    /// <summary>
    /// Writes a value. Returns false if the reply exceeds a limit: tables that refer to the same table repeatedly can describe a
    /// reply of any length.
    /// </summary>
    /// <param name="reply">The client's reply.</param>
    /// <param name="value">The result of the script.</param>
    /// <param name="scriptVersion">The protocol version that the script selected. In RESP2 a boolean becomes 1 or null.</param>
    /// <param name="most">The largest number of bytes of the reply.</param>
    /// <param name="elements">The largest number of elements, including those of nested tables.</param>
    public bool Write(ReplyWriter reply, LuaValue value, int scriptVersion, long most, long elements)
    {
        _depth = CountedErrors = 0;
        _isTooLong = false;
        _end = reply.BytesWritten + most;
        _elements = elements;
        WriteOne(reply, value, scriptVersion);
        while (_depth > 0 && !_isTooLong)
        {
            if (--_elements < 0 || !Check(reply, 0)) _isTooLong = true;
            ref Open open = ref _open[_depth - 1];
            if (!open.Next(out LuaValue next)) _depth--;
            else if (_depth < MaxDepth) WriteOne(reply, next, scriptVersion);
            else reply.Error("ERR reached lua stack limit");
        }
        if (_open.Length > UsualDepth) _open = new Open[UsualDepth];
        else Array.Clear(_open);
        return !_isTooLong;
    }

    /// <summary>Returns false if this many further bytes exceed the limit.</summary>
    private bool Check(ReplyWriter reply, long more)
    {
        if (reply.BytesWritten + more > _end || reply.Overflowed) _isTooLong = true;
        return !_isTooLong;
    }

    private void WriteOne(ReplyWriter reply, LuaValue value, int scriptVersion)
    {
        switch (value.Type)
        {
            case LuaType.String:
                if (Check(reply, value.AsString!.Length)) reply.Bulk(value.AsString!.Span);
                break;
            case LuaType.Number:
                reply.Integer(ToInteger(value.AsNumber));
                break;
            case LuaType.Boolean when scriptVersion >= 3:
                reply.Bool(value.IsTrue);
                break;
            case LuaType.Boolean when value.IsTrue:
                reply.Integer(1);
                break;
            case LuaType.Table:
                LuaTable table = value.AsTable!;
                if (!table.HasFields || !TryWriteTyped(reply, table)) OpenArray(reply, table);
                break;
            default:
                reply.Null();
                break;
        }
    }

    /// <summary>Writes a table that represents a reply of another type. Returns false for any other table.</summary>
    private bool TryWriteTyped(ReplyWriter reply, LuaTable table)
    {
        if (!Check(reply, TextLength(table))) return true;
        if (table[fields.Err].AsString is { } error) WriteError(reply, table, CText(error));
        else if (table[fields.Ok].AsString is { } status) WriteLine(reply, CText(status), static (r, line) => r.SimpleString(line));
        else if (table[fields.Double].Type == LuaType.Number) reply.Double(table[fields.Double].AsNumber);
        else if (table[fields.BigNumber].AsString is { } big) WriteLine(reply, big.Span, static (r, line) => r.BigNumber(line));
        else if (table[fields.Verbatim].AsTable is { } verbatim
            && verbatim[fields.Format].AsString is { } format && verbatim[fields.String].AsString is { } text)
            WriteVerbatim(reply, format, text);
        else if (table[fields.Map].AsTable is { } map) OpenPairs(reply, map, withValues: true);
        else if (table[fields.Set].AsTable is { } set) OpenPairs(reply, set, withValues: false);
        else return false;
        return true;
    }

    /// <summary>Twice the length of a text reply, because lines are copied.</summary>
    private long TextLength(LuaTable table)
    {
        LuaString? text = table[fields.Err].AsString ?? table[fields.Ok].AsString ?? table[fields.BigNumber].AsString ??
            table[fields.Verbatim].AsTable?[fields.String].AsString;
        return text is null ? 0 : 2L * text.Length;
    }

    private void WriteError(ReplyWriter reply, LuaTable table, ReadOnlySpan<byte> text)
    {
        if (table[fields.IgnoreStatistics].IsTrue) CountedErrors++;
        reply.Error(text);
    }

    private static void WriteVerbatim(ReplyWriter reply, LuaString format, LuaString text)
    {
        Span<byte> three = [(byte)' ', (byte)' ', (byte)' '];
        ReadOnlySpan<byte> given = CText(format);
        given[..Math.Min(given.Length, three.Length)].CopyTo(three);
        reply.Verbatim(three, text.Span);
    }

    /// <summary>Replaces line ends by blanks, because they would end the reply.</summary>
    private static void WriteLine(ReplyWriter reply, ReadOnlySpan<byte> line, Action<ReplyWriter, ReadOnlySpan<byte>> write)
    {
        if (line.IndexOfAny((byte)'\r', (byte)'\n') < 0)
        {
            write(reply, line);
            return;
        }
        byte[] copy = RentedArrays.Rent<byte>(line.Length);
        Span<byte> cleaned = copy.AsSpan(0, line.Length);
        line.CopyTo(cleaned);
        cleaned.Replace((byte)'\r', (byte)' ');
        cleaned.Replace((byte)'\n', (byte)' ');
        write(reply, cleaned);
        RentedArrays.Return(copy);
    }

    /// <summary>Ends the text at the first zero byte, as Redis does.</summary>
    private static ReadOnlySpan<byte> CText(LuaString text)
    {
        int end = text.Span.IndexOf((byte)0);
        return end < 0 ? text.Span : text.Span[..end];
    }

    private void OpenArray(ReplyWriter reply, LuaTable table)
    {
        int count = 0;
        while (!table[count + 1].IsNil) count++;
        reply.ArrayHeader(count);
        if (count > 0) Push(new Open(table, isArray: true, withValues: true));
    }

    private void OpenPairs(ReplyWriter reply, LuaTable table, bool withValues)
    {
        // An emptied table has many slots. A reply may contain it often.
        _elements -= table.SlotCount / SlotsPerElement;
        if (_elements < 0)
        {
            _isTooLong = true;
            return;
        }
        int count = table.Count;
        if (withValues) reply.MapHeader(count);
        else reply.SetHeader(count);
        if (count > 0) Push(new Open(table, isArray: false, withValues));
    }

    private void Push(in Open open)
    {
        if (_depth == _open.Length) Array.Resize(ref _open, _depth * 2);
        _open[_depth++] = open;
    }

    /// <summary>Converts like C on the processors of Redis: a number outside the range becomes the least integer.</summary>
    private static long ToInteger(double number) => number is >= -9223372036854775808.0 and < 9223372036854775808.0 ? (long)number : long.MinValue;

    /// <summary>A table whose header is written, and the position in it.</summary>
    private struct Open(LuaTable table, bool isArray, bool withValues)
    {
        private int _at = isArray ? 0 : -1;
        private LuaValue _value;
        private bool _hasValue;

        public bool Next(out LuaValue next)
        {
            if (isArray)
            {
                next = table[++_at];
                return !next.IsNil;
            }
            if (_hasValue)
            {
                next = _value;
                _hasValue = false;
                return true;
            }
            _hasValue = table.Advance(ref _at, out next, out _value) && withValues;
            return !next.IsNil;
        }
    }
}
