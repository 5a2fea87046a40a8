using System.Buffers;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Writes a value as JSON. Open tables are on an explicit stack, so deep nesting cannot exhaust the native stack.
/// </summary>
internal sealed class JsonEncoder(JsonSettings settings)
{
    /// <summary>The capacity of the Lua stack in lua-cjson.</summary>
    private const int MaxDepth = LuaLimits.HostSlots - 3;

    /// <summary>The bytes of a string that are written at once.</summary>
    private const int Part = 4096;

    private static readonly SearchValues<byte> s_escaped = SearchValues.Create(
        [.. Enumerable.Range(0, 32).Select(i => (byte)i), (byte)'"', (byte)'/', (byte)'\\', 127]);

    private readonly Stack<OpenTable> _open = new();

    public int Encode(ref LuaCall call)
    {
        // The last call may have ended with an exception.
        _open.Clear();
        var text = new TextBuilder(call.Meter);
        LuaValue value = call[1];
        AppendValue(ref call, ref text, in value);
        int steps = 0;
        while (_open.Count > 0 && !call.Failed && !text.Overflowed)
        {
            OpenTable table = _open.Pop();
            if (++steps % 64 == 0 && !call.Spend(8)) break;
            if (table.IsArray) ContinueArray(ref call, ref text, table);
            else ContinueObject(ref call, ref text, table);
        }
        _open.Clear();
        if (!call.Failed) return text.Return(ref call);
        text.Dispose();
        return 0;
    }

    /// <summary>An unfinished table with the position of its last written element.</summary>
    private record struct OpenTable(LuaTable Table, bool IsArray, int Last, int Length);

    private void ContinueArray(ref LuaCall call, ref TextBuilder text, OpenTable array)
    {
        if (array.Last == array.Length)
        {
            text.Append((byte)']');
            return;
        }
        if (array.Last > 0) text.Append((byte)',');
        LuaValue value = array.Table.Get(++array.Last);
        _open.Push(array);
        AppendValue(ref call, ref text, in value);
    }

    private void ContinueObject(ref LuaCall call, ref TextBuilder text, OpenTable table)
    {
        bool first = table.Last < 0;
        int last = table.Last;
        if (!table.Table.Advance(ref last, out LuaValue key, out LuaValue value))
        {
            text.Append((byte)'}');
            return;
        }
        if (!first) text.Append((byte)',');
        if (key.IsNumber)
        {
            text.Append((byte)'"');
            AppendNumber(ref call, ref text, in key);
            text.Append((byte)'"');
        }
        else if (key.Tag is LuaString s)
        {
            AppendString(ref call, ref text, s.Span);
        }
        else
        {
            Fail(ref call, in key, "table key must be a number or string");
            return;
        }
        text.Append((byte)':');
        _open.Push(table with { Last = last });
        AppendValue(ref call, ref text, in value);
    }

    private void AppendValue(ref LuaCall call, ref TextBuilder text, in LuaValue value)
    {
        switch (value.Type)
        {
            case LuaType.String:
                AppendString(ref call, ref text, value.AsString!.Span);
                break;
            case LuaType.Number:
                AppendNumber(ref call, ref text, in value);
                break;
            case LuaType.Boolean:
                text.Append(value.IsTrue ? "true"u8 : "false"u8);
                break;
            case LuaType.Nil:
                text.Append("null"u8);
                break;
            case LuaType.LightUserData when ReferenceEquals(value.Tag, LuaUserData.NullPointer):
                text.Append("null"u8);
                break;
            case LuaType.Table:
                OpenValue(ref call, ref text, value.AsTable!);
                break;
            default:
                Fail(ref call, in value, "type not supported");
                break;
        }
    }

    private void OpenValue(ref LuaCall call, ref TextBuilder text, LuaTable table)
    {
        int depth = _open.Count + 1;
        if (depth > settings.EncodeMaxDepth || depth > MaxDepth)
        {
            call.Error($"Cannot serialise, excessive nesting ({depth})");
            return;
        }
        int length = ArrayLength(ref call, table);
        if (call.Failed) return;
        text.Append(length > 0 ? (byte)'[' : (byte)'{');
        _open.Push(length > 0 ? new OpenTable(table, true, 0, length) : new OpenTable(table, false, -1, 0));
    }

    /// <summary>
    /// Returns the largest index if all keys are positive integers and the array is dense enough, otherwise -1 or 0.
    /// </summary>
    private int ArrayLength(ref LuaCall call, LuaTable table)
    {
        if (!call.Spend(table.SlotCount >> 5)) return -1;
        int most = 0, items = 0, at = -1;
        while (table.Advance(ref at, out LuaValue key, out _))
        {
            if (!key.IsNumber || !(key.Number >= 1) || Math.Floor(key.Number) != key.Number) return -1;
            // C on x86-64 converts a number that is too large to the smallest integer.
            if (key.Number > most) most = key.Number <= int.MaxValue ? (int)key.Number : int.MinValue;
            items++;
        }
        if (settings.EncodeSparseRatio > 0 &&
            most > unchecked(items * settings.EncodeSparseRatio) &&
            most > settings.EncodeSparseSafe)
        {
            if (settings.EncodeSparseConvert == 0) Fail(ref call, table, "excessively sparse array");
            return -1;
        }
        return most;
    }

    private void AppendNumber(ref LuaCall call, ref TextBuilder text, in LuaValue value)
    {
        double number = value.Number;
        if (!double.IsFinite(number))
        {
            if (settings.EncodeInvalidNumbers == 0)
            {
                Fail(ref call, in value, "must not be NaN or Inf");
                return;
            }
            if (settings.EncodeInvalidNumbers == 2)
            {
                text.Append("null"u8);
                return;
            }
            if (double.IsNaN(number))
            {
                text.Append("nan"u8);
                return;
            }
        }
        if (settings.EncodeNumberPrecision == 14)
        {
            text.AppendNumber(number);
            return;
        }
        text.Advance(NumberText.FormatGeneral(
            number, settings.EncodeNumberPrecision, alternate: false, upper: false, text.Reserve(LuaNumber.MaxText)));
    }

    /// <summary>A string may be long, so the host can end the script between two parts of it.</summary>
    private static void AppendString(ref LuaCall call, ref TextBuilder text, ReadOnlySpan<byte> s)
    {
        text.Append((byte)'"');
        while (s.Length > Part && !text.Overflowed && call.Spend(Part >> 5))
        {
            AppendPart(ref text, s[..Part]);
            s = s[Part..];
        }
        if (s.Length <= Part) AppendPart(ref text, s);
        text.Append((byte)'"');
    }

    private static void AppendPart(ref TextBuilder text, ReadOnlySpan<byte> s)
    {
        while (true)
        {
            int special = s.IndexOfAny(s_escaped);
            if (special < 0) break;
            text.Append(s[..special]);
            AppendEscaped(ref text, s[special]);
            s = s[(special + 1)..];
        }
        text.Append(s);
    }

    private static void AppendEscaped(ref TextBuilder text, byte c)
    {
        text.Append((byte)'\\');
        switch (c)
        {
            case (byte)'"' or (byte)'/' or (byte)'\\':
                text.Append(c);
                break;
            case 8:
                text.Append((byte)'b');
                break;
            case 9:
                text.Append((byte)'t');
                break;
            case 10:
                text.Append((byte)'n');
                break;
            case 12:
                text.Append((byte)'f');
                break;
            case 13:
                text.Append((byte)'r');
                break;
            default:
                text.Append("u00"u8);
                text.Append("0123456789abcdef"u8[c >> 4]);
                text.Append("0123456789abcdef"u8[c & 15]);
                break;
        }
    }

    private static void Fail(ref LuaCall call, in LuaValue value, string reason) =>
        call.Error($"Cannot serialise {value.TypeName}: {reason}");
}
