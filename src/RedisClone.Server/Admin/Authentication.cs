using System.Security.Cryptography;
using System.Text;

namespace RedisClone.Server.Admin;

/// <summary>Who is let in: the default user, with the password that requirepass sets, or any where it sets none.</summary>
internal static class Authentication
{
    public static bool Accepts(ServerConfig config, ReadOnlySpan<byte> user, ReadOnlySpan<byte> password)
    {
        if (!user.SequenceEqual("default"u8)) return false;
        if (config.RequirePass.Length == 0) return true;
        // Digests of equal length: how long the comparison takes tells nothing of the password, not even its length.
        Span<byte> wanted = stackalloc byte[SHA256.HashSizeInBytes], given = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(Encoding.UTF8.GetBytes(config.RequirePass), wanted);
        SHA256.HashData(password, given);
        return CryptographicOperations.FixedTimeEquals(wanted, given);
    }
}
