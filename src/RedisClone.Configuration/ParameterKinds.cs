using System.Globalization;
using System.Numerics;

namespace RedisClone.Configuration;

// The four simple kinds of parameters: yes/no, numbers, strings and words from a list.

internal sealed class BoolParameter(string name, bool defaultValue, Field<bool> field, string doc, string? alias, ParameterFlags flags)
    : Parameter<bool>(name, defaultValue, field, doc, alias, flags)
{
    public override string Values => "yes, no";

    protected override string Format(bool value) => value ? "yes" : "no";

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out bool value)
    {
        value = words[0].Equals("yes", StringComparison.OrdinalIgnoreCase);
        return value || words[0].Equals("no", StringComparison.OrdinalIgnoreCase) ? null : "argument must be 'yes' or 'no'";
    }
}

internal enum NumberForm
{
    Plain,

    /// <summary>A size with an optional unit. CONFIG GET prints bytes.</summary>
    Memory,

    /// <summary>A size, or a percentage, which is stored as a negative number.</summary>
    MemoryOrPercent,
    Octal,
}

/// <summary>
/// A word that is accepted in place of a number. It is stored as a value outside the number's range, and its meaning is
/// determined in each process.
/// </summary>
internal sealed record NumberWord(string Text, long Kept, Func<ServerConfig, long> Meaning);

internal sealed class NumberParameter<T>(
    string name, T defaultValue, T min, T max, Field<T> field, string doc, string? alias, ParameterFlags flags, NumberForm form,
    Func<long, string?>? check = null, Func<string, long?>? special = null, NumberWord? word = null)
    : Parameter<T>(name, defaultValue, field, doc, alias, flags)
    where T : struct, IBinaryInteger<T>
{
    private readonly long _min = long.CreateChecked(min);
    private readonly long _max = long.CreateChecked(max);

    public override string Values => form switch
    {
        NumberForm.Plain or NumberForm.Octal when _max is int.MaxValue or long.MaxValue => $"a number from {Show(_min)}",
        NumberForm.Plain or NumberForm.Octal => $"{Show(_min)} to {Show(_max)}",
        NumberForm.MemoryOrPercent => "memory, or a percentage",
        _ when _min > 0 => $"memory, at least {MemorySize.Format(_min)}",
        _ => "memory",
    };

    /// <summary>Prints the number that a word stands for, because tools expect a number.</summary>
    public override string GetText(ServerConfig config) => IsWord(config) ? Show(word!.Meaning(config)) : base.GetText(config);

    protected override string Format(T value)
    {
        long number = long.CreateChecked(value);
        return number < 0 && form == NumberForm.MemoryOrPercent ? $"{Show(-number)}%" : Show(number);
    }

    protected override string RewriteText(ServerConfig config)
    {
        if (IsWord(config)) return word!.Text;
        long number = long.CreateChecked(Value(config));
        return form is NumberForm.Memory or NumberForm.MemoryOrPercent && number >= 0 ? MemorySize.Format(number) : GetText(config);
    }

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out T value)
    {
        value = default;
        if ((word is not null && words[0].Equals(word.Text, StringComparison.OrdinalIgnoreCase) ? word.Kept : special?.Invoke(words[0])) is { } given)
        {
            value = T.CreateChecked(given);
            return null;
        }
        if (!TryRead(words[0], out long number))
            return form switch
            {
                NumberForm.Memory => "argument must be a memory value",
                NumberForm.MemoryOrPercent => "argument must be a memory or percent value",
                NumberForm.Octal => "argument couldn't be parsed as an octal number",
                _ => "argument couldn't be parsed into an integer",
            };
        if (number < _min && form == NumberForm.MemoryOrPercent)
            return $"percentage argument must be less or equal to {Show(-_min)}";
        if (number < _min || number > _max) return $"argument must be between {Show(_min)} and {Show(_max)} inclusive";
        if (check?.Invoke(number) is { } error) return error;
        value = T.CreateChecked(number);
        return null;
    }

    private bool IsWord(ServerConfig config) => word is not null && long.CreateChecked(Value(config)) == word.Kept;

    private bool TryRead(string text, out long number)
    {
        switch (form)
        {
            case NumberForm.Plain:
                return ConfigText.TryParseInteger(text, out number);
            case NumberForm.Octal:
                return TryReadOctal(text, out number);
            default:
                if (MemorySize.TryParse(text, out number)) return true;
                if (form == NumberForm.Memory || !text.EndsWith('%') || !ConfigText.TryParseInteger(text[..^1], out number) || number < 0)
                    return false;
                number = -number;
                return true;
        }
    }

    private static bool TryReadOctal(string text, out long number)
    {
        number = 0;
        foreach (char c in text)
        {
            if (c is < '0' or > '7' || number > long.MaxValue >> 3) return false;
            number = (number << 3) + (c - '0');
        }
        return text.Length > 0;
    }

    private string Show(long number) => form == NumberForm.Octal ? Convert.ToString(number, 8) : number.ToString(CultureInfo.InvariantCulture);
}

/// <summary>
/// A string. If the default is null, the empty string means "not set", and CONFIG REWRITE writes no line for it.
/// </summary>
internal sealed class TextParameter(
    string name, string? defaultValue, Field<string> field, string doc, string? alias, ParameterFlags flags, Func<string, string?>? check)
    : Parameter<string>(name, defaultValue ?? "", field, doc, alias, flags)
{
    private readonly bool _emptyIsUnset = defaultValue is null;

    public override string Values => Has(ParameterFlags.Secret) ? "a secret string" : "a string";

    protected override string Format(string value) => value;

    protected override string RewriteText(ServerConfig config) => ConfigText.Quote(Value(config));

    public override IEnumerable<RewriteLine> RewriteLines(ServerConfig config) =>
        _emptyIsUnset && Value(config).Length == 0 ? [] : base.RewriteLines(config);

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out string value)
    {
        value = words[0];
        // No path and no other name of the system can contain it.
        return value.Contains('\0', StringComparison.Ordinal) ? "argument must not contain a NUL byte" : check?.Invoke(value);
    }
}

/// <summary>A word from a list, in any case. If two words have the same value, the first one is shown.</summary>
internal sealed class ChoiceParameter<T>(
    string name, T defaultValue, (string Word, T Value)[] choices, Field<T> field, string doc, string? alias, ParameterFlags flags,
    Func<T, string?>? check)
    : Parameter<T>(name, defaultValue, field, doc, alias, flags)
{
    public override string Values => string.Join(", ", choices.Select(choice => choice.Word));

    protected override string Format(T value) => choices.First(choice => EqualityComparer<T>.Default.Equals(choice.Value, value)).Word;

    protected override string? Parse(ServerConfig config, ReadOnlySpan<string> words, out T value)
    {
        foreach ((string Word, T Value) choice in choices)
        {
            if (!choice.Word.Equals(words[0], StringComparison.OrdinalIgnoreCase)) continue;
            value = choice.Value;
            return check?.Invoke(value);
        }
        value = Default;
        return $"argument(s) must be one of the following: {Values}";
    }
}
