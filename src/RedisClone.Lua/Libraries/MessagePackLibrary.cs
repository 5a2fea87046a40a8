using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The cmsgpack module, compatible with lua-cmsgpack 0.4.0 in Redis.</summary>
internal static class MessagePackLibrary
{
    public static void Open(LuaState state)
    {
        LuaTable table = Library.Open(
            state,
            "cmsgpack",
            ("pack", MessagePackWriter.Pack),
            ("unpack", (ref LuaCall c) => Unpack(ref c, 0, 0)),
            ("unpack_one", UnpackOne),
            ("unpack_limit", UnpackLimit));
        state.SetField(table, "_NAME", state.Name("cmsgpack"));
        state.SetField(table, "_VERSION", state.Name("lua-cmsgpack 0.4.0"));
        state.SetField(table, "_COPYRIGHT", state.Name("Copyright (C) 2012, Salvatore Sanfilippo"));
        state.SetField(table, "_DESCRIPTION", state.Name("MessagePack C implementation for Lua"));
    }

    private static int UnpackOne(ref LuaCall call)
    {
        long offset = call.OptionalInteger(2, 0);
        return Unpack(ref call, 1, offset);
    }

    private static int UnpackLimit(ref LuaCall call)
    {
        long limit = call.CheckInteger(2);
        long offset = call.OptionalInteger(3, 0);
        return Unpack(ref call, limit, offset);
    }

    private static int Unpack(ref LuaCall call, long limit, long offset)
    {
        LuaString s = call.CheckString(1);
        if (call.Failed) return 0;
        bool all = limit == 0 && offset == 0;
        // lua-cmsgpack prints the length in place of the limit.
        if (offset < 0 || limit < 0)
            return call.Error($"Invalid request to unpack with offset of {(int)offset} and limit of {s.Length}.");
        if (offset > s.Length) return call.Error($"Start offset {(int)offset} greater than input length {s.Length}.");
        if (all) limit = int.MaxValue;
        var reader = new MessagePackReader(s.Span[(int)offset..]);
        int first = call.Thread.Top;
        if (!all) call.Push(LuaValue.Nil);
        long count = 0;
        for (; reader.Left > 0 && count < limit; count++)
        {
            reader.Read(ref call, out LuaValue value);
            reader.Dispose(ref call);
            if (call.Failed) return 0;
            call.EnsureRoom(1, MessagePackReader.TooMany);
            if (call.Failed) return 0;
            call.Push(value);
        }
        if (all) return (int)count;
        call.Thread.Stack[first] = reader.Left == 0 ? -1 : s.Length - reader.Left;
        return (int)count + 1;
    }
}
