namespace RedisClone.Server.Support;

/// <summary>One file of a support bundle.</summary>
/// <param name="Name">The name of the file.</param>
/// <param name="What">What the file shows, for the README.</param>
/// <param name="Write">Writes the file. An exception means that the part could not be read; its message says why.</param>
internal sealed record BundlePart(string Name, string What, Action<Stream> Write)
{
    /// <summary>How long writing may take. A part that takes longer is left out.</summary>
    public TimeSpan Patience { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>A part that is a text.</summary>
    public static BundlePart Text(string name, string what, Func<string> text, BundleMask mask) =>
        new(name, what, file => file.Write(System.Text.Encoding.UTF8.GetBytes(mask.WithoutSecrets(text()))));
}
