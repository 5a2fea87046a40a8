namespace RedisClone.Lua.Libraries;

/// <summary>The character classes of C's default locale, one bit each.</summary>
internal static class CharacterClass
{
    private const byte Letter = 1, Control = 2, Digit = 4, Lower = 8, Punctuation = 16, Space = 32, Upper = 64, Hex = 128;

    private static readonly byte[] s_bits = [.. Enumerable.Range(0, 256).Select(i => Classify((char)i))];

    public static bool Has(byte c, byte mask) => (s_bits[c] & mask) != 0;

    /// <summary>
    /// Returns the bits of a class named in a pattern, in upper or lower case. Returns 0 for other names, including z,
    /// which is a single byte and no class.
    /// </summary>
    public static byte Mask(byte name) => (name | 0x20) switch
    {
        'a' => Letter,
        'c' => Control,
        'd' => Digit,
        'l' => Lower,
        'p' => Punctuation,
        's' => Space,
        'u' => Upper,
        'w' => Letter | Digit,
        'x' => Hex,
        _ => 0,
    } is var mask && char.IsAsciiLetter((char)name) ? (byte)mask : (byte)0;

    private static byte Classify(char c)
    {
        int bits = 0;
        if (char.IsAsciiLetter(c)) bits |= Letter;
        if (c is < ' ' or (char)127) bits |= Control;
        if (char.IsAsciiDigit(c)) bits |= Digit;
        if (char.IsAsciiLetterLower(c)) bits |= Lower;
        if (c is > ' ' and < (char)127 && !char.IsAsciiLetterOrDigit(c)) bits |= Punctuation;
        if (c is ' ' or (>= '\t' and <= '\r')) bits |= Space;
        if (char.IsAsciiLetterUpper(c)) bits |= Upper;
        if (char.IsAsciiHexDigit(c)) bits |= Hex;
        return (byte)bits;
    }
}
