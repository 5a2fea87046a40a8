using System.Diagnostics;

namespace RedisClone.Storage;

/// <summary>What is common to values that reach beyond their record.</summary>
internal static class LargeValues
{
    public static void Release(ShardStore store, ValueType type, ReadOnlySpan<byte> root) =>
        throw new UnreachableException($"a {type} of {root.Length} bytes has no large form in a store of {store.DatabaseCount} databases");

    public static void Copy(in Entry source, Keyspace target, ReadOnlySpan<byte> key, ulong hash) =>
        throw new UnreachableException($"a {source.Type} has no large form to copy to {target.Count} keys, {key.Length} bytes, {hash}");
}
