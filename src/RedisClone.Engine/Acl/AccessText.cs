using System.Buffers;
using System.Security.Cryptography;
using System.Text;

namespace RedisClone.Engine.Acl;

/// <summary>
/// Converts names, patterns and rules between bytes and strings with one char per byte: decoding as UTF-8 could make two
/// different names equal. Passwords are stored only as their SHA-256, written as 64 hexadecimal digits.
/// </summary>
internal static class AccessText
{
    private static readonly SearchValues<char> HexDigits = SearchValues.Create("0123456789abcdef");
    private static readonly SearchValues<char> Blanks = SearchValues.Create(" \t\n\v\f\r\0");

    public const int HashLength = 2 * SHA256.HashSizeInBytes;

    public static string Of(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    public static string HashOf(ReadOnlySpan<byte> password) => Convert.ToHexStringLower(SHA256.HashData(password));

    public static bool IsHash(ReadOnlySpan<char> text) => text.Length == HashLength && !text.ContainsAnyExcept(HexDigits);

    /// <summary>
    /// Compares digests of equal length in constant time: the duration reveals neither the password nor which of several
    /// matches.
    /// </summary>
    public static bool AnyIs(IReadOnlyList<string> hashes, ReadOnlySpan<byte> password)
    {
        Span<byte> given = stackalloc byte[SHA256.HashSizeInBytes], known = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(password, given);
        bool found = false;
        foreach (string hash in hashes)
        {
            Convert.FromHexString(hash, known, out _, out _);
            found |= CryptographicOperations.FixedTimeEquals(known, given);
        }
        return found;
    }

    /// <summary>Names and patterns are written to lines of words, so they must not contain blanks or zero bytes.</summary>
    public static bool HasBlanks(ReadOnlySpan<char> text) => text.ContainsAny(Blanks);
}
