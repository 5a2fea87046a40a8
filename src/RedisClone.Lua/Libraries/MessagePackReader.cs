using System.Buffers.Binary;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Reads MessagePack, without the binary and extension types that lua-cmsgpack does not support. Open tables are on an
/// explicit stack, so deep nesting cannot exhaust the native stack.
/// </summary>
internal ref struct MessagePackReader(ReadOnlySpan<byte> data)
{
    public const string TooMany = "too many return values at once; use unpack_one or unpack_limit instead.";

    /// <summary>
    /// The capacity of the Lua stack in lua-cmsgpack, where each level takes a slot for the table and one for the key.
    /// </summary>
    private const int MaxSlots = LuaLimits.HostSlots - 2;

    private readonly Stack<Open> _open = new();
    private ReadOnlySpan<byte> _rest = data;
    private int _steps;

    public readonly int Left => _rest.Length;

    /// <summary>
    /// An unfinished table: the number of elements still to come, and the key whose value comes next.
    /// </summary>
    private record struct Open(LuaTable Table, bool IsArray, uint Left, int Index, bool HasKey, LuaValue Key);

    /// <summary>Discards the tables that a failure left unfinished.</summary>
    public readonly void Dispose(ref LuaCall call)
    {
        for (; _open.Count > 0; _open.Pop()) call.State.EndBuilding();
    }

    /// <summary>Reads one value, including all nested values.</summary>
    public void Read(ref LuaCall call, out LuaValue value)
    {
        value = default;
        while (true)
        {
            if (++_steps % 64 == 0 && !call.Spend(8)) return;
            bool complete = ReadItem(ref call, ref value);
            if (call.Failed) return;
            if (complete && _open.Count > 0 && !Add(ref call, in value)) return;
            while (_open.Count > 0 && _open.Peek() is { Left: 0, HasKey: false })
            {
                value = _open.Pop().Table;
                call.State.EndBuilding();
                if (_open.Count > 0 && !Add(ref call, in value)) return;
                complete = true;
            }
            if (_open.Count == 0) return;
        }
    }

    private readonly bool Add(ref LuaCall call, in LuaValue value)
    {
        Open open = _open.Pop();
        if (!open.IsArray && !open.HasKey)
        {
            open.HasKey = true;
            open.Key = value;
            open.Left--;
        }
        else if (open.IsArray)
        {
            open.Index++;
            open.Left--;
            call.Store(open.Table, open.Index, in value);
        }
        else
        {
            open.HasKey = false;
            call.Store(open.Table, open.Key, value);
        }
        _open.Push(open);
        return !call.Failed;
    }

    /// <summary>
    /// Reads a simple value and returns true, or reads the header of a table, opens the table and returns false.
    /// </summary>
    private bool ReadItem(ref LuaCall call, ref LuaValue value)
    {
        ReadOnlySpan<byte> bytes = _rest;
        if (bytes.Length == 0) return Missing(ref call);
        byte code = bytes[0];
        switch (code)
        {
            case <= 0x7F or >= 0xE0:
                value = (sbyte)code;
                return Take(1);
            case <= 0x8F:
                return OpenTable(ref call, 1, (uint)code & 15, isArray: false);
            case <= 0x9F:
                return OpenTable(ref call, 1, (uint)code & 15, isArray: true);
            case <= 0xBF:
                return TakeString(ref call, 1, (uint)code & 31, ref value);
            case 0xC0:
                value = default;
                return Take(1);
            case 0xC2 or 0xC3:
                value = code == 0xC3;
                return Take(1);
        }
        int size = code switch
        {
            0xCC or 0xD0 or 0xD9 => 1,
            0xCD or 0xD1 or 0xDA or 0xDC or 0xDE => 2,
            0xCA or 0xCE or 0xD2 or 0xDB or 0xDD or 0xDF => 4,
            0xCB or 0xCF or 0xD3 => 8,
            _ => 0,
        };
        if (size == 0)
        {
            call.Error("Bad data format in input.");
            return false;
        }
        if (bytes.Length < size + 1) return Missing(ref call);
        ReadOnlySpan<byte> payload = bytes.Slice(1, size);
        ulong number = 0;
        foreach (byte b in payload) number = (number << 8) | b;
        switch (code)
        {
            case 0xCA:
                value = BinaryPrimitives.ReadSingleBigEndian(payload);
                break;
            case 0xCB:
                value = BinaryPrimitives.ReadDoubleBigEndian(payload);
                break;
            case >= 0xD9 and <= 0xDB:
                return TakeString(ref call, size + 1, (uint)number, ref value);
            case 0xDC or 0xDD:
                return OpenTable(ref call, size + 1, (uint)number, isArray: true);
            case 0xDE or 0xDF:
                return OpenTable(ref call, size + 1, (uint)number, isArray: false);
            case >= 0xD0:
                // Sign-extends the payload.
                value = (long)(number << (64 - (size * 8))) >> (64 - (size * 8));
                break;
            default:
                value = (long)number; // lua-cmsgpack pushes unsigned 64-bit numbers as signed
                break;
        }
        return Take(size + 1);
    }

    private bool Take(int count)
    {
        _rest = _rest[count..];
        return true;
    }

    private bool TakeString(ref LuaCall call, int header, uint length, ref LuaValue value)
    {
        if ((ulong)header + length > (ulong)_rest.Length) return Missing(ref call);
        call.Meter.Work(length);
        LuaString? s = call.State.TryNewString(_rest.Slice(header, (int)length));
        if (s is null) call.OutOfMemory();
        value = s;
        return Take(header + (int)length);
    }

    private bool OpenTable(ref LuaCall call, int header, uint count, bool isArray)
    {
        if (_open.Count * 2 > MaxSlots)
            call.Error($"stack overflow ({(isArray ? "in function mp_decode_to_lua_array" : TooMany)})");
        LuaTable table = call.NewTable();
        call.State.BeginBuilding(table);
        _open.Push(new Open(table, isArray, count, 0, false, default));
        Take(header);
        return false;
    }

    private static bool Missing(ref LuaCall call)
    {
        call.Error("Missing bytes in input.");
        return false;
    }
}
