using System.Buffers;
using RedisClone.Lua;
using RedisClone.Protocol;

namespace RedisClone.Server.Scripting;

/// <summary>
/// What a script returned as its reply, by Redis's table of conversions. Tables can be nested as deep as a script likes, so those that are
/// being written wait on a stack of their own.
/// </summary>
internal sealed class LuaToReply(ReplyFields fields)
{
    /// <summary>Where Redis's own stack ends.</summary>
    private const int MaxDepth = 8000;

    private const int UsualDepth = 16;

    private Open[] _open = new Open[UsualDepth];
    private int _depth;
    private long _end, _elements;
    private bool _isTooLong;

    /// <summary>Of the errors that the last value had in it, those that the commands they came from have counted.</summary>
    public int CountedErrors { get; private set; }

    /// <summary>
    /// Writes a value; false where the reply is longer than it may be. Tables that hold the same table again and again stand for
    /// replies of any length.
    /// </summary>
    /// <param name="reply">The client's.</param>
    /// <param name="value">What was returned.</param>
    /// <param name="scriptVersion">The protocol that the script asked for: in RESP2 a boolean is 1 or null.</param>
    /// <param name="most">The bytes that the reply may have.</param>
    /// <param name="elements">The elements that it may have, those of tables within tables included.</param>
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

    /// <summary>False if so many bytes more are too many.</summary>
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

    /// <summary>Writes a table that stands for a reply of another type; false for any other.</summary>
    private bool TryWriteTyped(ReplyWriter reply, LuaTable table)
    {
        if (!Check(reply, TextLength(table))) return true;
        if (table[fields.Err].AsString is { } error) WriteError(reply, table, CText(error));
        else if (table[fields.Ok].AsString is { } status) WriteLine(reply, CText(status), static (r, line) => r.SimpleString(line));
        else if (table[fields.Double].Type == LuaType.Number) reply.Double(table[fields.Double].AsNumber);
        else if (table[fields.BigNumber].AsString is { } big) WriteLine(reply, big.Span, static (r, line) => r.BigNumber(line));
        else if (table[fields.Verbatim].AsTable is { } verbatim && verbatim[fields.Format].AsString is { } format && verbatim[fields.String].AsString is { } text) WriteVerbatim(reply, format, text);
        else if (table[fields.Map].AsTable is { } map) OpenPairs(reply, map, withValues: true);
        else if (table[fields.Set].AsTable is { } set) OpenPairs(reply, set, withValues: false);
        else return false;
        return true;
    }

    /// <summary>The bytes of a text that stands for a reply, twice: lines are copied.</summary>
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

    /// <summary>Line ends would end the reply: they become blanks.</summary>
    private static void WriteLine(ReplyWriter reply, ReadOnlySpan<byte> line, Action<ReplyWriter, ReadOnlySpan<byte>> write)
    {
        if (line.IndexOfAny((byte)'\r', (byte)'\n') < 0)
        {
            write(reply, line);
            return;
        }
        byte[] copy = ArrayPool<byte>.Shared.Rent(line.Length);
        Span<byte> cleaned = copy.AsSpan(0, line.Length);
        line.CopyTo(cleaned);
        cleaned.Replace((byte)'\r', (byte)' ');
        cleaned.Replace((byte)'\n', (byte)' ');
        write(reply, cleaned);
        ArrayPool<byte>.Shared.Return(copy);
    }

    /// <summary>Redis takes these texts as C's: they end at the first zero.</summary>
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

    /// <summary>As C converts on the processors that Redis runs on: what does not fit becomes the least number.</summary>
    private static long ToInteger(double number) => number is >= -9223372036854775808.0 and < 9223372036854775808.0 ? (long)number : long.MinValue;

    /// <summary>A table of which the header is written, and how far its elements are.</summary>
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
