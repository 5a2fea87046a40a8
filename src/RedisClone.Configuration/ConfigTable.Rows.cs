namespace RedisClone.Configuration;

/// <summary>The factory methods for the rows of the table. A parameter without a field is stored and never read.</summary>
internal sealed partial class ConfigTable
{
    private const ParameterFlags Immutable = ParameterFlags.Immutable;
    private const ParameterFlags Hidden = ParameterFlags.Hidden;
    private const ParameterFlags Protected = ParameterFlags.Protected;
    private const ParameterFlags DenyLoading = ParameterFlags.DenyLoading;
    private const ParameterFlags Secret = ParameterFlags.Secret;
    private const ParameterFlags Volatile = ParameterFlags.Volatile;
    private const ParameterFlags TunesNothing = ParameterFlags.TunesNothing;
    private const ParameterFlags Unsupported = ParameterFlags.Unsupported;

    private static BoolParameter Bool(
        string name, bool value, Field<bool> field, string doc, string? alias = null, ParameterFlags flags = default) =>
        new(name, value, field, doc, alias, flags);

    private static BoolParameter Bool(string name, bool value, string doc, string? alias = null, ParameterFlags flags = default) =>
        Bool(name, value, Unread.Field<bool>(name), doc, alias, flags);

    private static NumberParameter<int> Int(
        string name, int value, int min, int max, Field<int> field, string doc, string? alias = null, ParameterFlags flags = default,
        Func<long, string?>? check = null, Func<string, long?>? special = null) =>
        new(name, value, min, max, field, doc, alias, flags, NumberForm.Plain, check, special);

    private static NumberParameter<int> Int(
        string name, int value, int min, int max, string doc, string? alias = null, ParameterFlags flags = default) =>
        Int(name, value, min, max, Unread.Field<int>(name), doc, alias, flags);

    private static NumberParameter<uint> UInt(
        string name, uint value, uint min, uint max, Field<uint> field, string doc, ParameterFlags flags = default) =>
        new(name, value, min, max, field, doc, null, flags, NumberForm.Plain);

    private static NumberParameter<uint> Octal(
        string name, uint value, uint max, Field<uint> field, string doc, ParameterFlags flags = default) =>
        new(name, value, 0, max, field, doc, null, flags, NumberForm.Octal);

    private static NumberParameter<long> Long(
        string name, long value, long min, Field<long> field, string doc, string? alias = null, ParameterFlags flags = default) =>
        new(name, value, min, long.MaxValue, field, doc, alias, flags, NumberForm.Plain);

    private static NumberParameter<long> Long(string name, long value, long min, string doc, ParameterFlags flags = default) =>
        Long(name, value, min, Unread.Field<long>(name), doc, alias: null, flags);

    private static NumberParameter<long> Bytes(
        string name, long value, long min, Field<long> field, string doc, string? alias = null, ParameterFlags flags = default,
        NumberWord? word = null) =>
        new(name, value, min, long.MaxValue, field, doc, alias, flags, NumberForm.Memory, word: word);

    private static NumberParameter<long> Bytes(string name, long value, long min, string doc, ParameterFlags flags = default) =>
        Bytes(name, value, min, Unread.Field<long>(name), doc, alias: null, flags);

    private static NumberParameter<long> BytesOrPercent(string name, long value, Field<long> field, string doc) =>
        new(name, value, -100, long.MaxValue, field, doc, null, default, NumberForm.MemoryOrPercent);

    private static TextParameter Text(
        string name, string? value, Field<string> field, string doc, string? alias = null, ParameterFlags flags = default,
        Func<string, string?>? check = null) =>
        new(name, value, field, doc, alias, flags, check);

    private static TextParameter Text(
        string name, string? value, string doc, string? alias = null, ParameterFlags flags = default, Func<string, string?>? check = null) =>
        Text(name, value, Unread.Field<string>(name), doc, alias, flags, check);

    private static ChoiceParameter<T> Choice<T>(
        string name, T value, (string, T)[] choices, Field<T> field, string doc, ParameterFlags flags = default, Func<T, string?>? check = null) =>
        new(name, value, choices, field, doc, null, flags, check);

    private static ChoiceParameter<string> Choice(string name, string value, string[] words, string doc, ParameterFlags flags = default) =>
        Choice(name, value, Array.ConvertAll(words, word => (word, word)), Unread.Field<string>(name), doc, flags);
}
