using System.Diagnostics;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using RedisClone.Lua;

namespace RedisClone.Server.Scripting;

/// <summary>What a client can have run: a script, or a function of a library.</summary>
internal abstract class Routine(string name, LuaFunction body, ScriptFlags flags)
{
    /// <summary>Runs that count for half of the average.</summary>
    private const int Memory = 8;

    private long _averageTicks;

    /// <summary>A script's digest, a function's name.</summary>
    public string Name => name;

    public LuaFunction Body => body;

    public ScriptFlags Flags => flags;

    /// <summary>It says by which rules it runs, so these hold for the command that runs it too.</summary>
    public bool IsDeclared => (flags & ScriptFlags.Compatible) == 0;

    /// <summary>It takes longer than an event loop should wait.</summary>
    public bool IsSlow => Volatile.Read(ref _averageTicks) > Limits.InlineScript.Ticks * Stopwatch.Frequency / TimeSpan.TicksPerSecond;

    /// <summary>Remembers how long a run took.</summary>
    public void Took(long ticks) => Volatile.Write(ref _averageTicks, _averageTicks + (ticks - _averageTicks) / Memory);
}

/// <summary>A compiled script under its digest.</summary>
internal sealed class Script(byte[] source, ScriptDigest digest, LuaFunction body, ScriptFlags flags) : Routine(digest.ToString(), body, flags)
{
    public byte[] Source => source;

    public ScriptDigest Digest => digest;
}

/// <summary>The SHA-1 of a script's source: what EVALSHA names it by.</summary>
internal readonly record struct ScriptDigest(UInt128 Head, uint Tail)
{
    private const int TextLength = 2 * SHA1.HashSizeInBytes;

    /// <summary>Reads it as text, in either case.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out ScriptDigest digest)
    {
        digest = default;
        if (text.Length != TextLength) return false;
        if (!UInt128.TryParse(text[..32], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out UInt128 head)) return false;
        if (!uint.TryParse(text[32..], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out uint tail)) return false;
        digest = new ScriptDigest(head, tail);
        return true;
    }

    public static ScriptDigest Of(ReadOnlySpan<byte> source)
    {
        _ = TryParse(Encoding.ASCII.GetBytes(TextOf(source)), out ScriptDigest digest);
        return digest;
    }

    /// <summary>The digest of any text, in lower case.</summary>
    public static string TextOf(ReadOnlySpan<byte> source)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
#pragma warning disable CA5350 // The protocol names scripts by SHA-1; nothing is protected by it.
        SHA1.HashData(source, hash);
#pragma warning restore CA5350
        return Convert.ToHexStringLower(hash);
    }

    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Head:x32}{Tail:x8}");
}
