using System.Diagnostics;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>A unit that a client can run: a script or a function of a library.</summary>
internal abstract class Routine(string name, LuaFunction body, ScriptFlags flags)
{
    /// <summary>The averaging constant: each run changes the average by an eighth of the difference.</summary>
    private const int Memory = 8;

    private long _averageTicks;

    /// <summary>The digest of a script, or the name of a function.</summary>
    public string Name => name;

    public LuaFunction Body => body;

    public ScriptFlags Flags => flags;

    /// <summary>Whether the routine declares its flags. These then apply to the command that runs it too.</summary>
    public bool IsDeclared => (flags & ScriptFlags.Compatible) == 0;

    /// <summary>Whether the routine usually takes longer than an event loop should wait.</summary>
    public bool IsSlow => Volatile.Read(ref _averageTicks) > Limits.InlineScript.Ticks * Stopwatch.Frequency / TimeSpan.TicksPerSecond;

    /// <summary>Whether the routine provably needs no shards but those of its keys.</summary>
    public virtual bool KeepsToKeys => false;

    /// <summary>Adds the duration of a run to the average.</summary>
    public void Took(long ticks) => Volatile.Write(ref _averageTicks, _averageTicks + (ticks - _averageTicks) / Memory);
}

/// <summary>A compiled script and its digest.</summary>
internal sealed class Script(byte[] source, ScriptDigest digest, LuaFunction body, ScriptFlags flags, bool keepsToKeys)
    : Routine(digest.ToString(), body, flags)
{
    private long _lastUse;

    /// <summary>The time of the last run. Any thread may set it.</summary>
    public long LastUse
    {
        get => Volatile.Read(ref _lastUse);
        set => Volatile.Write(ref _lastUse, value);
    }

    public override bool KeepsToKeys => keepsToKeys || IsTrusted;

    /// <summary>Whether a test treats the script as proved, whatever it does.</summary>
    internal bool IsTrusted { get; set; }

    public byte[] Source => source;

    /// <summary>The memory that the script takes in the cache.</summary>
    public long Bytes { get; init; }

    public ScriptDigest Digest => digest;
}

/// <summary>The SHA-1 digest of a script's source, by which EVALSHA names the script.</summary>
internal readonly record struct ScriptDigest(UInt128 Head, uint Tail)
{
    private const int TextLength = 2 * SHA1.HashSizeInBytes;

    /// <summary>Parses a digest as text, in any letter case.</summary>
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
