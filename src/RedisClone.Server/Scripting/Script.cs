using System.Security.Cryptography;
using RedisClone.Lua;

namespace RedisClone.Server.Scripting;

/// <summary>What a script's first line (#!lua flags=…) promises.</summary>
[Flags]
internal enum ScriptFlags
{
    None = 0,
    NoWrites = 1,
    AllowOom = 2,
    AllowStale = 4,
    NoCluster = 8,
    AllowCrossSlotKeys = 16,

    /// <summary>There is no first line: the script runs by the rules of before Redis 7.</summary>
    Compatible = 32,
}

/// <summary>A compiled script under its digest.</summary>
internal sealed class Script(byte[] body, string digest, LuaFunction function, ScriptFlags flags)
{
    public byte[] Body => body;

    /// <summary>SHA-1 of the body, in lower case.</summary>
    public string Digest => digest;

    public LuaFunction Function => function;

    public ScriptFlags Flags => flags;

    /// <summary>Loaded by SCRIPT LOAD: kept until it is flushed. Scripts that only EVAL brought make room for others.</summary>
    public bool IsPinned { get; set; }

    public static string DigestOf(ReadOnlySpan<byte> body)
    {
        Span<byte> hash = stackalloc byte[SHA1.HashSizeInBytes];
#pragma warning disable CA5350 // The protocol names scripts by SHA-1; nothing is protected by it.
        SHA1.HashData(body, hash);
#pragma warning restore CA5350
        return Convert.ToHexStringLower(hash);
    }
}
