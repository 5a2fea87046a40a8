using System.Globalization;

namespace RedisClone.Configuration;

/// <summary>Memory sizes in the syntax of redis.conf: 1k is 1000 bytes, 1kb is 1024 bytes, up to gb. Case is ignored.</summary>
internal static class MemorySize
{
    private const long Kilo = 1024, Mega = 1024 * Kilo, Giga = 1024 * Mega;

    public static bool TryParse(string text, out long bytes)
    {
        bytes = 0;
        int digits = 0;
        while (digits < text.Length && char.IsAsciiDigit(text[digits])) digits++;

        ReadOnlySpan<char> unit = text.AsSpan(digits);
        long factor = unit switch
        {
            "" => 1,
            _ when Is(unit, "b") => 1,
            _ when Is(unit, "k") => 1_000,
            _ when Is(unit, "kb") => Kilo,
            _ when Is(unit, "m") => 1_000_000,
            _ when Is(unit, "mb") => Mega,
            _ when Is(unit, "g") => 1_000_000_000,
            _ when Is(unit, "gb") => Giga,
            _ => 0L,
        };
        if (factor == 0) return false;
        if (digits == 0)
            return true; // Redis reads "" and "kb" as zero
        if (!long.TryParse(text.AsSpan(0, digits), NumberStyles.None, CultureInfo.InvariantCulture, out long value) ||
            value > long.MaxValue / factor)
            return false;
        bytes = value * factor;
        return true;
    }

    /// <summary>Formats a number of bytes in the shortest exact form.</summary>
    public static string Format(long bytes) => bytes switch
    {
        0 => "0",
        _ when bytes % Giga == 0 => Invariant($"{bytes / Giga}gb"),
        _ when bytes % Mega == 0 => Invariant($"{bytes / Mega}mb"),
        _ when bytes % Kilo == 0 => Invariant($"{bytes / Kilo}kb"),
        _ => Invariant($"{bytes}"),
    };

    private static bool Is(ReadOnlySpan<char> unit, string name) => unit.Equals(name, StringComparison.OrdinalIgnoreCase);

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
