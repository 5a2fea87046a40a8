using System.Text;

namespace RedisClone.Configuration;

/// <summary>
/// Reads configuration files of limited size as one char per byte (see <see cref="ConfigText"/>), and expands the wildcards of
/// `include`.
/// </summary>
internal static class ConfigFiles
{
    public const int MaxBytes = 64 * 1024 * 1024;

    /// <summary>Reads a file. Returns null, or the error to exit with.</summary>
    public static string? Read(string path, out string text) =>
        Read($"'{path}'", () => Open(path), out text);

    /// <summary>Opens a file, which may also be a pipe. The runtime reports a directory as a lack of permission.</summary>
    private static FileStream Open(string path) => Directory.Exists(path)
        ? throw new IOException("Is a directory")
        : new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite);

    public static string? ReadStandardInput(Func<Stream> open, out string text) => Read("from stdin", open, out text);

    private static string? Read(string name, Func<Stream> open, out string text)
    {
        text = "";
        try
        {
            using Stream stream = open();
            text = ReadToEnd(stream);
            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return $"Fatal error, can't open config file {name}: {Reason(e)}\n";
        }
    }

    private static string ReadToEnd(Stream stream)
    {
        using var bytes = new MemoryStream();
        byte[] buffer = new byte[16 * 1024];
        for (int read; (read = stream.Read(buffer)) > 0;)
        {
            if (bytes.Length + read > MaxBytes) throw new IOException($"It is larger than {MaxBytes} bytes");
            bytes.Write(buffer, 0, read);
        }
        return Encoding.Latin1.GetString(bytes.GetBuffer(), 0, (int)bytes.Length);
    }

    /// <summary>
    /// Returns the files that match a path, in alphabetical order. A path without wildcards matches itself, even if the file
    /// does not exist. A path with wildcards may match nothing. Wildcards match hidden files only if the pattern begins with a
    /// dot.
    /// </summary>
    public static IReadOnlyList<string> Expand(string fullPath)
    {
        if (!ConfigText.HasWildcard(fullPath)) return [fullPath];

        List<string> found = [Path.GetPathRoot(fullPath)!];
        string[] segments = fullPath[found[0].Length..].Split(Path.DirectorySeparatorChar, StringSplitOptions.RemoveEmptyEntries);
        foreach (string segment in segments)
            found = ConfigText.HasWildcard(segment)
                ? [.. found.SelectMany(directory => Entries(directory, segment))]
                : [.. found.Select(directory => Path.Combine(directory, segment)).Where(Path.Exists)];
        return found;
    }

    public static string Reason(Exception e) => e switch
    {
        FileNotFoundException or DirectoryNotFoundException => "No such file or directory",
        UnauthorizedAccessException => "Permission denied",
        _ => e.Message,
    };

    private static IEnumerable<string> Entries(string directory, string pattern) => !Directory.Exists(directory)
        ? []
        : Directory.EnumerateFileSystemEntries(directory)
            .Where(path => Path.GetFileName(path) is var name && (name[0] != '.' || pattern[0] == '.') &&
                           ConfigText.MatchesGlob(pattern, name, ignoreCase: false))
            .Order(StringComparer.Ordinal);
}
