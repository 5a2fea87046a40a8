using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The string functions, except for <see cref="StringMatching"/> and <see cref="StringFormat"/>.</summary>
internal static class StringLibrary
{
    public static void Open(LuaState state)
    {
        LuaTable table = Library.Open(
            state,
            "string",
            ("byte", Byte),
            ("char", Char),
            ("dump", Dump),
            ("find", StringMatching.Find),
            ("format", StringFormat.Format),
            ("gmatch", StringMatching.GlobalMatch),
            ("gsub", StringMatching.Substitute),
            ("len", Length),
            ("lower", Lower),
            ("match", StringMatching.Match),
            ("rep", Repeat),
            ("reverse", Reverse),
            ("sub", Sub),
            ("upper", Upper));
        state.SetField(table, "gfind", table[state.Name("gmatch")]);
        state.StringMetatable = new LuaTable(0, 1);
        state.SetField(state.StringMetatable, "__index", table);
    }

    /// <summary>
    /// Converts a position argument. A negative position counts from the end. A position before the start becomes 0.
    /// </summary>
    internal static long Position(long position, int length)
    {
        if (position < 0) position += length + 1L;
        return Math.Max(position, 0);
    }

    private static int Length(ref LuaCall call) => call.Return(call.CheckString(1).Length);

    private static int Sub(ref LuaCall call)
    {
        LuaString s = call.CheckString(1);
        long start = Math.Max(Position(call.CheckInteger(2), s.Length), 1);
        long end = Math.Min(Position(call.OptionalInteger(3, -1), s.Length), s.Length);
        if (call.Failed || start > end) return call.Return(LuaString.Empty);
        if (start == 1 && end == s.Length) return call.Return(s);
        return call.ReturnString(s.Span[(int)(start - 1)..(int)end]);
    }

    private static int Byte(ref LuaCall call)
    {
        LuaString s = call.CheckString(1);
        long start = Position(call.OptionalInteger(2, 1), s.Length);
        long end = Math.Min(Position(call.OptionalInteger(3, start), s.Length), s.Length);
        start = Math.Max(start, 1);
        if (call.Failed || start > end) return 0;
        int count = (int)(end - start + 1);
        call.EnsureRoom(count, "string slice too long");
        if (call.Failed) return 0;
        foreach (byte b in s.Span.Slice((int)start - 1, count)) call.Push(b);
        return count;
    }

    private static int Char(ref LuaCall call)
    {
        if (call.Count == 1)
        {
            int only = call.CheckInt(1);
            call.Check((byte)only == only, 1, "invalid value");
            return call.Return(LuaString.Single((byte)only));
        }
        using var text = new TextBuilder(call.Meter, call.Count);
        for (int i = 1; i <= call.Count && !call.Failed; i++)
        {
            int c = call.CheckInt(i);
            call.Check((byte)c == c, i, "invalid value");
            text.Append((byte)c);
        }
        return call.ReturnString(text.Written);
    }

    private static int Repeat(ref LuaCall call)
    {
        LuaString s = call.CheckString(1);
        int count = call.CheckInt(2);
        if (call.Failed) return 0;
        long length = (long)s.Length * Math.Max(count, 0);
        if (length == 0) return call.Return(LuaString.Empty);
        if (length > LuaLimits.StringLength || !call.Spend((int)(length >> 6))) return call.OutOfMemory();
        byte[]? bytes = call.State.TryNewBytes((int)length);
        if (bytes is null) return call.OutOfMemory();
        if (s.Length == 1)
        {
            bytes.AsSpan().Fill(s.Span[0]);
        }
        else
        {
            for (int at = 0; at < bytes.Length; at += s.Length) s.Span.CopyTo(bytes.AsSpan(at));
        }
        return call.Return(new LuaString(bytes));
    }

    private static int Reverse(ref LuaCall call)
    {
        LuaString s = call.CheckString(1);
        byte[]? bytes = TryCopy(ref call, s);
        if (bytes is null) return 0;
        bytes.AsSpan().Reverse();
        return call.Return(new LuaString(bytes));
    }

    private static int Lower(ref LuaCall call)
    {
        LuaString s = call.CheckString(1);
        byte[]? bytes = TryCopy(ref call, s);
        if (bytes is null) return 0;
        foreach (ref byte b in bytes.AsSpan())
        {
            if (b is >= (byte)'A' and <= (byte)'Z') b |= 0x20;
        }
        return call.Return(new LuaString(bytes));
    }

    private static int Upper(ref LuaCall call)
    {
        LuaString s = call.CheckString(1);
        byte[]? bytes = TryCopy(ref call, s);
        if (bytes is null) return 0;
        foreach (ref byte b in bytes.AsSpan())
        {
            if (b is >= (byte)'a' and <= (byte)'z') b ^= 0x20;
        }
        return call.Return(new LuaString(bytes));
    }

    /// <summary>
    /// Returns only the signature of a binary chunk. Functions have no binary form, and no function loads one.
    /// </summary>
    private static int Dump(ref LuaCall call)
    {
        call.CheckFunction(1);
        if (call.Failed) return 0;
        return call[1].AsFunction is LuaClosure ? call.ReturnString("\u001bLuaQ"u8) : call.Error("unable to dump given function");
    }

    private static byte[]? TryCopy(ref LuaCall call, LuaString s)
    {
        if (call.Failed || !call.Spend(s.Length >> 6)) return null;
        byte[]? bytes = call.State.TryNewBytes(s.Length);
        if (bytes is null)
        {
            call.OutOfMemory();
            return null;
        }
        s.Span.CopyTo(bytes);
        return bytes;
    }
}
