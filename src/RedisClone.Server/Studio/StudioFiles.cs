using System.Collections.Frozen;
using System.Reflection;
using System.Security.Cryptography;

namespace RedisClone.Server.Studio;

/// <summary>A file of the page.</summary>
internal sealed record StudioFile(byte[] Bytes, string Type, string Tag);

/// <summary>The files of the page, which the executable contains. A request can name no other file.</summary>
internal static class StudioFiles
{
    private const string Prefix = "studio/";

    private static readonly Lazy<FrozenDictionary<string, StudioFile>> All = new(Read);

    public static StudioFile? Find(string name) => All.Value.GetValueOrDefault(name);

    private static FrozenDictionary<string, StudioFile> Read()
    {
        Assembly assembly = typeof(StudioFiles).Assembly;
        return assembly.GetManifestResourceNames().Where(static name => name.StartsWith(Prefix, StringComparison.Ordinal))
            .ToFrozenDictionary(static name => name[Prefix.Length..], name => Read(assembly, name), StringComparer.Ordinal);
    }

    private static StudioFile Read(Assembly assembly, string name)
    {
        using Stream stream = assembly.GetManifestResourceStream(name)!;
        byte[] bytes = new byte[stream.Length];
        stream.ReadExactly(bytes);
        string type = Path.GetExtension(name) switch
        {
            ".html" => "text/html; charset=utf-8",
            ".css" => "text/css; charset=utf-8",
            ".js" => "text/javascript; charset=utf-8",
            ".svg" => "image/svg+xml",
            _ => "application/octet-stream",
        };
        return new StudioFile(bytes, type, $"\"{Convert.ToHexString(SHA256.HashData(bytes).AsSpan(0, 8))}\"");
    }
}
