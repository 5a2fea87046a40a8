using System.Reflection;
using RedisClone.Server.Embedding;

namespace RedisClone.Testing.Tests;

/// <summary>
/// Compares the public surface of the packages with PublicSurface.txt, so that internals do not become public and the
/// surface does not change unnoticed.
/// </summary>
public sealed class PublicSurfaceTests
{
    [Fact]
    public void ThePublicSurfaceMatchesTheList()
    {
        string[] expected = File.ReadAllLines(Path.Combine(AppContext.BaseDirectory, "PublicSurface.txt"));
        string[] found =
        [
            .. new[] { typeof(RedisCloneServer), typeof(RedisTestServer) }
                .SelectMany(type => type.Assembly.GetExportedTypes()).SelectMany(Lines).Order(StringComparer.Ordinal),
        ];
        Assert.True(expected.SequenceEqual(found), $"PublicSurface.txt would be:\n{string.Join('\n', found)}\n");
    }

    private static IEnumerable<string> Lines(Type type) =>
        type.GetMembers(BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly)
            .Where(member => member is not MethodInfo { IsSpecialName: true })
            .Select(member => $"{type.FullName}: {member}");
}
