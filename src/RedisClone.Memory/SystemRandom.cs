namespace RedisClone.Memory;

/// <summary>
/// Random bytes of the operating system's secure generator. RandomNumberGenerator has the same bytes, but loads OpenSSL, whose pages and
/// initialization would be a part of every start.
/// </summary>
public static class SystemRandom
{
    private const int GuidBytes = 16;

    /// <summary>The first bytes of a GUID. The version and the variant come after them.</summary>
    private const int PartBytes = 6;

    public static byte[] GetBytes(int count)
    {
        byte[] bytes = new byte[count];
        Fill(bytes);
        return bytes;
    }

    public static void Fill(Span<byte> bytes)
    {
        Span<byte> guid = stackalloc byte[GuidBytes];
        for (; bytes.Length > 0; bytes = bytes[Math.Min(PartBytes, bytes.Length)..])
        {
            // The documentation of NewGuid says that it uses the secure generator of the operating system.
            _ = Guid.NewGuid().TryWriteBytes(guid);
            guid[..Math.Min(PartBytes, bytes.Length)].CopyTo(bytes);
        }
    }
}
