using System.Buffers.Binary;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Writes values as MessagePack, each in its shortest form. Tables beyond the maximum nesting, for example recursive
/// tables, are written as nil.
/// </summary>
internal static class MessagePackWriter
{
    private const int MaxNesting = 16;

    public static int Pack(ref LuaCall call)
    {
        if (call.Count == 0) return call.ArgumentError(0, "MessagePack pack needs input.");
        var text = new TextBuilder(call.Meter);
        for (int i = 1; i <= call.Count && !call.Failed && !text.Overflowed; i++)
        {
            LuaValue value = call[i];
            Write(ref call, ref text, in value, 0);
        }
        if (!call.Failed) return text.Return(ref call);
        text.Dispose();
        return 0;
    }

    private static void Write(ref LuaCall call, ref TextBuilder text, in LuaValue value, int level)
    {
        switch (value.Type)
        {
            case LuaType.String:
                WriteString(ref text, value.AsString!.Span);
                break;
            case LuaType.Boolean:
                text.Append(value.IsTrue ? (byte)0xC3 : (byte)0xC2);
                break;
            case LuaType.Number:
                WriteNumber(ref text, value.Number);
                break;
            case LuaType.Table when level < MaxNesting:
                WriteTable(ref call, ref text, value.AsTable!, level);
                break;
            default:
                text.Append(0xC0);
                break;
        }
    }

    private static void WriteTable(ref LuaCall call, ref TextBuilder text, LuaTable table, int level)
    {
        // Tables with shared subtables can expand to an enormous output, so the work is counted.
        if (!call.Spend(1 + (table.SlotCount >> 4)) || text.Overflowed) return;
        int at = -1;
        if (IsArray(table, out int count))
        {
            WriteHeader(ref text, count, 15, 0x90, 0xDC);
            for (int i = 1; i <= count && !call.Failed; i++) Write(ref call, ref text, in table.Get(i), level + 1);
            return;
        }
        count = 0;
        while (table.Advance(ref at, out _, out _)) count++;
        WriteHeader(ref text, count, 15, 0x80, 0xDE);
        at = -1;
        while (!call.Failed && !text.Overflowed && table.Advance(ref at, out LuaValue key, out LuaValue value))
        {
            Write(ref call, ref text, in key, level + 1);
            Write(ref call, ref text, in value, level + 1);
        }
    }

    /// <summary>Returns true if the keys are exactly 1 to n.</summary>
    private static bool IsArray(LuaTable table, out int count)
    {
        int most = 0, at = -1;
        count = 0;
        while (table.Advance(ref at, out LuaValue key, out _))
        {
            if (!key.IsNumber || key.Number <= 0 || (int)key.Number != key.Number) return false;
            most = Math.Max(most, (int)key.Number);
            count++;
        }
        return most == count;
    }

    private static void WriteHeader(ref TextBuilder text, int count, int shortest, byte fixedCode, byte code16)
    {
        Span<byte> bytes = stackalloc byte[5];
        if (count <= shortest)
        {
            text.Append((byte)(fixedCode | count));
            return;
        }
        bytes[0] = count <= 0xFFFF ? code16 : (byte)(code16 + 1);
        if (count <= 0xFFFF) BinaryPrimitives.WriteUInt16BigEndian(bytes[1..], (ushort)count);
        else BinaryPrimitives.WriteUInt32BigEndian(bytes[1..], (uint)count);
        text.Append(count <= 0xFFFF ? bytes[..3] : bytes);
    }

    private static void WriteString(ref TextBuilder text, ReadOnlySpan<byte> s)
    {
        if (s.Length is > 31 and <= 0xFF)
        {
            text.Append(0xD9);
            text.Append((byte)s.Length);
        }
        else
        {
            WriteHeader(ref text, s.Length, 31, 0xA0, 0xDA);
        }
        text.Append(s);
    }

    private static void WriteNumber(ref TextBuilder text, double number)
    {
        Span<byte> bytes = stackalloc byte[9];
        long integer = LuaNumber.ToInt64(number);
        if (integer == number)
        {
            text.Append(bytes[..WriteInteger(bytes, integer)]);
            return;
        }
        if (number == (float)number)
        {
            bytes[0] = 0xCA;
            BinaryPrimitives.WriteSingleBigEndian(bytes[1..], (float)number);
            text.Append(bytes[..5]);
            return;
        }
        bytes[0] = 0xCB;
        BinaryPrimitives.WriteDoubleBigEndian(bytes[1..], number);
        text.Append(bytes);
    }

    private static int WriteInteger(Span<byte> to, long n)
    {
        if (n is >= -32 and <= 127)
        {
            to[0] = (byte)n;
            return 1;
        }
        int size = n switch
        {
            >= sbyte.MinValue and <= byte.MaxValue => 1,
            >= short.MinValue and <= ushort.MaxValue => 2,
            >= int.MinValue and <= uint.MaxValue => 4,
            _ => 8,
        };
        to[0] = (byte)((n < 0 ? 0xD0 : 0xCC) + int.Log2(size));
        for (int i = size; i > 0; i--, n >>= 8) to[i] = (byte)n;
        return size + 1;
    }
}
