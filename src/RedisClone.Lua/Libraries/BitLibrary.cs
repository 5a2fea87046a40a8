using System.Buffers.Binary;
using System.Numerics;
using RedisClone.Lua.Running;

namespace RedisClone.Lua.Libraries;

/// <summary>The BitOp library: operations on 32-bit integers, with signed results.</summary>
internal static class BitLibrary
{
    /// <summary>
    /// 2^52 + 2^51. Adding it to a number leaves the integer part, modulo 2^32, in the low bits of the double.
    /// </summary>
    private const double Magic = 6755399441055744.0;

    public static void Open(LuaState state) => Library.Open(
        state,
        "bit",
        ("tobit", (ref LuaCall c) => Return(ref c, Bits(ref c, 1))),
        ("bnot", (ref LuaCall c) => Return(ref c, ~Bits(ref c, 1))),
        ("band", And),
        ("bor", Or),
        ("bxor", Xor),
        ("lshift", (ref LuaCall c) => Return(ref c, Bits(ref c, 1) << Shift(ref c))),
        ("rshift", (ref LuaCall c) => Return(ref c, Bits(ref c, 1) >> Shift(ref c))),
        ("arshift", (ref LuaCall c) => Return(ref c, (uint)((int)Bits(ref c, 1) >> Shift(ref c)))),
        ("rol", (ref LuaCall c) => Return(ref c, BitOperations.RotateLeft(Bits(ref c, 1), Shift(ref c)))),
        ("ror", (ref LuaCall c) => Return(ref c, BitOperations.RotateRight(Bits(ref c, 1), Shift(ref c)))),
        ("bswap", (ref LuaCall c) => Return(ref c, BinaryPrimitives.ReverseEndianness(Bits(ref c, 1)))),
        ("tohex", ToHex));

    private static uint Bits(ref LuaCall call, int index) =>
        (uint)BitConverter.DoubleToUInt64Bits(call.CheckNumber(index) + Magic);

    private static int Shift(ref LuaCall call) => (int)(Bits(ref call, 2) & 31);

    private static int Return(ref LuaCall call, uint bits) => call.Return((int)bits);

    private static int And(ref LuaCall call)
    {
        uint bits = Bits(ref call, 1);
        for (int i = call.Count; i > 1; i--) bits &= Bits(ref call, i);
        return Return(ref call, bits);
    }

    private static int Or(ref LuaCall call)
    {
        uint bits = Bits(ref call, 1);
        for (int i = call.Count; i > 1; i--) bits |= Bits(ref call, i);
        return Return(ref call, bits);
    }

    private static int Xor(ref LuaCall call)
    {
        uint bits = Bits(ref call, 1);
        for (int i = call.Count; i > 1; i--) bits ^= Bits(ref call, i);
        return Return(ref call, bits);
    }

    private static int ToHex(ref LuaCall call)
    {
        uint bits = Bits(ref call, 1);
        int digits = call.Count < 2 ? 8 : Math.Max((int)Bits(ref call, 2), -int.MaxValue);
        ReadOnlySpan<byte> alphabet = digits < 0 ? "0123456789ABCDEF"u8 : "0123456789abcdef"u8;
        digits = Math.Min(Math.Abs(digits), 8);
        Span<byte> text = stackalloc byte[8];
        for (int i = digits - 1; i >= 0; i--, bits >>= 4) text[i] = alphabet[(int)(bits & 15)];
        return call.ReturnString(text[..digits]);
    }
}
