using System.Reflection;
using RedisClone.Server.Embedding;

namespace RedisClone.Testing.Tests;

/// <summary>What users of the packages build on is what PublicSurface.txt lists: nothing of the server's inside, and nothing that changes unnoticed.</summary>
public sealed class PublicSurfaceTests
{
    [Fact]
    public void It_is_what_is_listed()
    {
        string[] expected = File.ReadAllLines(Path.Combine(AppContext.BaseDirectory, "PublicSurface.txt"));
        string[] found = [.. new[] { typeof(RedisCloneServer), typeof(RedisTestServer) }.SelectMany(type => type.Assembly.GetExportedTypes()).SelectMany(Lines).Order(StringComparer.Ordinal)];
        Assert.True(expected.SequenceEqual(found), $"PublicSurface.txt would be:\n{string.Join('\n', found)}\n");
    }

    private static IEnumerable<string> Lines(Type type) =>
        type.GetMembers(BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly)
            .Where(member => member is not MethodInfo { IsSpecialName: true })
            .Select(member => $"{type.FullName}: {member}");
}
