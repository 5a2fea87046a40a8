using System.Globalization;
using System.IO.Compression;
using System.Text;
using RedisClone.Configuration;

namespace RedisClone.Server.Support;

/// <summary>
/// A zip of parts, with a README that says what each part is. A part that fails or takes too long does not stop the others; the README
/// says what is missing and why.
/// </summary>
internal static class Bundle
{
    public const string Readme = "README.md";

    public static byte[] Make(string subject, IReadOnlyList<BundlePart> parts)
    {
        using var file = new MemoryStream();
        using (var zip = new ZipArchive(file, ZipArchiveMode.Create, leaveOpen: true))
        {
            var readme = new StringBuilder();
            readme.Append("# Support bundle\n\n").Append(subject);
            readme.Append(CultureInfo.InvariantCulture, $" Made at {DateTime.UtcNow:yyyy-MM-dd HH:mm:ss} UTC by RedisClone {ServerVersion.Own}.\n\n");
            readme.Append("No part contains keys, values, arguments of commands or passwords. Addresses and names of clients are replaced by labels.\n\n");
            readme.Append("| file | bytes | what it shows |\n| --- | --- | --- |\n");
            foreach (BundlePart part in parts)
            {
                (byte[]? content, string missing) = Read(part);
                if (content is not null) Add(zip, part.Name, content);
                string size = content?.Length.ToString(CultureInfo.InvariantCulture) ?? "missing: " + missing.ReplaceLineEndings(" ");
                readme.Append(CultureInfo.InvariantCulture, $"| {part.Name} | {size} | {part.What} |\n");
            }
            Add(zip, Readme, Encoding.UTF8.GetBytes(readme.ToString()));
        }
        return file.ToArray();
    }

    /// <summary>Reads a part on a thread of its own, because the threads of the pool may all be busy.</summary>
    private static (byte[]? Content, string Missing) Read(BundlePart part)
    {
        Task<byte[]> reading = Task.Factory.StartNew(() =>
        {
            using var content = new MemoryStream();
            part.Write(content);
            return content.ToArray();
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        try
        {
            return reading.Wait(part.Patience) ? (reading.Result, "")
                : (null, string.Create(CultureInfo.InvariantCulture, $"it was not there after {part.Patience.TotalSeconds} seconds"));
        }
        catch (AggregateException failure)
        {
            return (null, failure.InnerException!.Message);
        }
    }

    private static void Add(ZipArchive zip, string name, byte[] content)
    {
        using Stream entry = zip.CreateEntry(name, CompressionLevel.Fastest).Open();
        entry.Write(content);
    }
}
