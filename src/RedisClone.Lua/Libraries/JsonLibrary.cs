using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// The cjson module, compatible with lua-cjson 2.1 in Redis 7.4. Each instance that <c>cjson.new</c> creates has its
/// own settings. The settings of the global instance are restored before each call by the host, because the scripts of
/// all users share it.
/// </summary>
internal sealed class JsonLibrary
{
    private const int InstanceSize = 4096;

    private static readonly string[] s_switch = ["off", "on"];
    private static readonly string[] s_invalidNumbers = ["off", "on", "null"];

    private readonly JsonSettings _settings = new();
    private readonly JsonEncoder _encoder;
    private readonly Stack<JsonDecoder.Open> _decoding = new();

    private JsonLibrary() => _encoder = new JsonEncoder(_settings);

    public static void Open(LuaState state)
    {
        var shared = new JsonLibrary();
        state.SetField(state.Globals, "cjson", shared.MakeTable(state));
        state.Restoring += shared._settings.Restore;
    }

    private LuaTable MakeTable(LuaState state)
    {
        var table = new LuaTable(0, 16);
        Library.Add(
            state,
            table,
            ("encode", Encode),
            ("decode", Decode),
            ("encode_sparse_array", EncodeSparseArray),
            ("encode_max_depth", (ref LuaCall c) => OneInteger(ref c, ref _settings.EncodeMaxDepth, int.MaxValue)),
            ("decode_max_depth", (ref LuaCall c) => OneInteger(ref c, ref _settings.DecodeMaxDepth, int.MaxValue)),
            ("encode_number_precision", (ref LuaCall c) => OneInteger(ref c, ref _settings.EncodeNumberPrecision, 14)),
            ("encode_keep_buffer", (ref LuaCall c) => OneChoice(ref c, ref _settings.EncodeKeepBuffer, s_switch)),
            ("encode_invalid_numbers", (ref LuaCall c) => OneChoice(ref c, ref _settings.EncodeInvalidNumbers, s_invalidNumbers)),
            ("decode_invalid_numbers", (ref LuaCall c) => OneChoice(ref c, ref _settings.DecodeInvalidNumbers, s_switch)),
            ("new", New));
        state.SetField(table, "null", LuaUserData.NullPointer);
        state.SetField(table, "_NAME", state.Name("cjson"));
        state.SetField(table, "_VERSION", state.Name("2.1.0"));
        return table;
    }

    private static int New(ref LuaCall call) =>
        call.Meter.TryCharge(InstanceSize)
            ? call.Return(new JsonLibrary().MakeTable(call.State))
            : call.OutOfMemory();

    private int Encode(ref LuaCall call)
    {
        call.Check(call.Count == 1, 1, "expected 1 argument");
        return call.Failed ? 0 : _encoder.Encode(ref call);
    }

    private int Decode(ref LuaCall call)
    {
        call.Check(call.Count == 1, 1, "expected 1 argument");
        LuaString text = call.CheckString(1);
        call.Meter.Work(text.Length);
        return call.Failed ? 0 : new JsonDecoder(_settings, _decoding, text.Span).Decode(ref call);
    }

    private int EncodeSparseArray(ref LuaCall call)
    {
        LimitArguments(ref call, 3);
        Choice(ref call, 1, ref _settings.EncodeSparseConvert, s_switch);
        Integer(ref call, 2, ref _settings.EncodeSparseRatio, 0, int.MaxValue);
        Integer(ref call, 3, ref _settings.EncodeSparseSafe, 0, int.MaxValue);
        return 3;
    }

    private static int OneInteger(ref LuaCall call, ref int setting, int most)
    {
        LimitArguments(ref call, 1);
        Integer(ref call, 1, ref setting, 1, most);
        return 1;
    }

    private static int OneChoice(ref LuaCall call, ref int setting, string[] options)
    {
        LimitArguments(ref call, 1);
        Choice(ref call, 1, ref setting, options);
        return 1;
    }

    private static void LimitArguments(ref LuaCall call, int most) =>
        call.Check(call.Count <= most, most + 1, "found too many arguments");

    private static void Integer(ref LuaCall call, int index, ref int setting, int least, int most)
    {
        if (!call.IsMissing(index))
        {
            int value = call.CheckInt(index);
            call.Check(value >= least && value <= most, 1, $"expected integer between {least} and {most}");
            if (!call.Failed) setting = value;
        }
        call.Push(setting);
    }

    private static void Choice(ref LuaCall call, int index, ref int setting, string[] options)
    {
        if (call[index].Type == LuaType.Boolean) setting = call[index].IsTrue ? 1 : 0;
        else if (!call.IsMissing(index)) setting = call.CheckOption(index, null, options);
        call.Push(setting <= 1 ? setting == 1 : LuaString.From(options[setting]));
    }
}

/// <summary>The settings of one cjson instance. A choice is stored as the index of its option.</summary>
internal sealed class JsonSettings
{
    public int EncodeSparseConvert;
    public int EncodeSparseRatio;
    public int EncodeSparseSafe;
    public int EncodeMaxDepth;
    public int EncodeNumberPrecision;
    public int EncodeInvalidNumbers;

    /// <summary>Has no effect, because buffers always come from a pool. It is kept for scripts that set it.</summary>
    public int EncodeKeepBuffer;

    public int DecodeInvalidNumbers;
    public int DecodeMaxDepth;

    public JsonSettings() => Restore();

    /// <summary>Restores the defaults.</summary>
    public void Restore()
    {
        EncodeSparseConvert = 0;
        EncodeSparseRatio = 2;
        EncodeSparseSafe = 10;
        EncodeMaxDepth = DecodeMaxDepth = 1000;
        EncodeNumberPrecision = 14;
        EncodeInvalidNumbers = 0;
        EncodeKeepBuffer = DecodeInvalidNumbers = 1;
    }
}
