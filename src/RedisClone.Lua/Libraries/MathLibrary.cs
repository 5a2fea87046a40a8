using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The mathematical functions. <c>random</c> uses <see cref="LuaState.Random"/>.</summary>
internal static class MathLibrary
{
    private const double RadiansPerDegree = Math.PI / 180.0;

    public static void Open(LuaState state)
    {
        LuaTable table = Library.Open(
            state,
            "math",
            ("abs", (ref LuaCall c) => c.Return(Math.Abs(c.CheckNumber(1)))),
            ("acos", (ref LuaCall c) => c.Return(Math.Acos(c.CheckNumber(1)))),
            ("asin", (ref LuaCall c) => c.Return(Math.Asin(c.CheckNumber(1)))),
            ("atan", (ref LuaCall c) => c.Return(Math.Atan(c.CheckNumber(1)))),
            ("atan2", (ref LuaCall c) => c.Return(Math.Atan2(c.CheckNumber(1), c.CheckNumber(2)))),
            ("ceil", (ref LuaCall c) => c.Return(Math.Ceiling(c.CheckNumber(1)))),
            ("cos", (ref LuaCall c) => c.Return(Math.Cos(c.CheckNumber(1)))),
            ("cosh", (ref LuaCall c) => c.Return(Math.Cosh(c.CheckNumber(1)))),
            ("deg", (ref LuaCall c) => c.Return(c.CheckNumber(1) / RadiansPerDegree)),
            ("exp", (ref LuaCall c) => c.Return(Math.Exp(c.CheckNumber(1)))),
            ("floor", (ref LuaCall c) => c.Return(Math.Floor(c.CheckNumber(1)))),
            ("fmod", (ref LuaCall c) => c.Return(c.CheckNumber(1) % c.CheckNumber(2))),
            ("frexp", FractionAndExponent),
            ("ldexp", (ref LuaCall c) => c.Return(Math.ScaleB(c.CheckNumber(1), c.CheckInt(2)))),
            ("log", (ref LuaCall c) => c.Return(Math.Log(c.CheckNumber(1)))),
            ("log10", (ref LuaCall c) => c.Return(Math.Log10(c.CheckNumber(1)))),
            ("max", Max),
            ("min", Min),
            ("modf", ModF),
            ("pow", (ref LuaCall c) => c.Return(Math.Pow(c.CheckNumber(1), c.CheckNumber(2)))),
            ("rad", (ref LuaCall c) => c.Return(c.CheckNumber(1) * RadiansPerDegree)),
            ("random", Random),
            ("randomseed", RandomSeed),
            ("sin", (ref LuaCall c) => c.Return(Math.Sin(c.CheckNumber(1)))),
            ("sinh", (ref LuaCall c) => c.Return(Math.Sinh(c.CheckNumber(1)))),
            ("sqrt", (ref LuaCall c) => c.Return(Math.Sqrt(c.CheckNumber(1)))),
            ("tan", (ref LuaCall c) => c.Return(Math.Tan(c.CheckNumber(1)))),
            ("tanh", (ref LuaCall c) => c.Return(Math.Tanh(c.CheckNumber(1)))));
        state.SetField(table, "pi", Math.PI);
        state.SetField(table, "huge", double.PositiveInfinity);
        state.SetField(table, "mod", table[state.Name("fmod")]);
    }

    private static int ModF(ref LuaCall call)
    {
        double value = call.CheckNumber(1);
        double whole = Math.Truncate(value);
        call.Push(whole);
        call.Push(double.IsInfinity(value) ? Math.CopySign(0, value) : Math.CopySign(value - whole, value));
        return 2;
    }

    private static int FractionAndExponent(ref LuaCall call)
    {
        double value = call.CheckNumber(1);
        int exponent = 0;
        if (value != 0 && double.IsFinite(value))
        {
            exponent = Math.ILogB(value) + 1;
            value = Math.ScaleB(value, -exponent);
        }
        call.Push(value);
        call.Push(exponent);
        return 2;
    }

    private static int Max(ref LuaCall call)
    {
        double best = call.CheckNumber(1);
        for (int i = 2; i <= call.Count; i++)
        {
            double value = call.CheckNumber(i);
            if (value > best) best = value;
        }
        return call.Return(best);
    }

    private static int Min(ref LuaCall call)
    {
        double best = call.CheckNumber(1);
        for (int i = 2; i <= call.Count; i++)
        {
            double value = call.CheckNumber(i);
            if (value < best) best = value;
        }
        return call.Return(best);
    }

    private static int Random(ref LuaCall call)
    {
        const int range = int.MaxValue;
        double fraction = call.State.Random.Next() % range / (double)range;
        switch (call.Count)
        {
            case 0:
                return call.Return(fraction);
            case 1:
                int most = call.CheckInt(1);
                call.Check(most >= 1, 1, "interval is empty");
                return call.Return(Math.Floor(fraction * most) + 1);
            case 2:
                int low = call.CheckInt(1), high = call.CheckInt(2);
                call.Check(low <= high, 2, "interval is empty");
                return call.Return(Math.Floor(fraction * unchecked(high - low + 1)) + low);
            default:
                return call.Error("wrong number of arguments");
        }
    }

    private static int RandomSeed(ref LuaCall call)
    {
        int seed = call.CheckInt(1);
        if (!call.Failed) call.State.Random.Seed(seed);
        return 0;
    }
}
