using System.Buffers;
using RedisClone.Memory;

namespace RedisClone.Engine.Cluster.State;

/// <summary>The name of a node or of a shard of the cluster: 40 hexadecimal digits.</summary>
internal static class NodeId
{
    public const int Length = 40;

    private static readonly SearchValues<char> Digits = SearchValues.Create("0123456789abcdef");

    public static string New() => Convert.ToHexStringLower(SystemRandom.GetBytes(Length / 2));

    /// <summary>Whether a text is a name. Only lower-case digits occur.</summary>
    public static bool IsValid(ReadOnlySpan<char> text) => text.Length == Length && !text.ContainsAnyExcept(Digits);
}
