using System.IO.Compression;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Embedding;

/// <summary>
/// The packages work outside the repository: a project installs them from a folder, with its own package cache and without the
/// sources.
/// </summary>
public sealed class PackageTests : IDisposable
{
    private static readonly string[] Libraries =
        ["RedisClone.Server", "RedisClone.Testing", "RedisClone.Protocol", "RedisClone.Storage", "RedisClone.Journal", "RedisClone.Lua",
            "RedisClone.Transport", "RedisClone.Memory"];

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-packages-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public Task TheSampleRuns() =>
        VisitCounter.TryAsync(Repository.PathOf($"samples/Embedded/bin/{Configuration}/net10.0/Embedded"));

    [Fact]
    public async Task PackagesInstallAndRun()
    {
        await DotnetAsync("pack", "RedisClone.sln", "-c", Configuration, "--no-build", "-o", Packages);
        foreach (string library in Libraries)
        {
            Assert.Superset(new HashSet<string> { "README.md", $"lib/net10.0/{library}.dll", $"lib/net10.0/{library}.xml" }, Entries(library, "nupkg"));
            Assert.Contains($"lib/net10.0/{library}.pdb", Entries(library, "snupkg"));
        }
        Assert.Contains("README.md", Entries("RedisClone.Tool", "nupkg"));

        await DotnetAsync("tool", "install", "RedisClone.Tool", "--tool-path", Path.Combine(_folder, "bin"), "--add-source", Packages, "--version", Version);
        using (ServerProcess server = ServerProcess.Start(Path.Combine(_folder, "bin", "redisclone"))) server.AssertWell();

        string sample = Path.Combine(_folder, "sample");
        Directory.CreateDirectory(sample);
        File.Copy(Repository.PathOf("samples/Embedded/Program.cs"), Path.Combine(sample, "Program.cs"));
        await File.WriteAllTextAsync(Path.Combine(sample, "sample.csproj"), $"""
            <Project Sdk="Microsoft.NET.Sdk.Web">
              <PropertyGroup>
                <TargetFramework>net10.0</TargetFramework>
                <ImplicitUsings>enable</ImplicitUsings>
                <Nullable>enable</Nullable>
              </PropertyGroup>
              <ItemGroup>
                <PackageReference Include="RedisClone.Server" Version="{Version}" />
              </ItemGroup>
            </Project>
            """);
        await DotnetAsync("build", sample, $"-p:RestoreAdditionalProjectSources={Packages}", "-o", Path.Combine(sample, "out"));
        await VisitCounter.TryAsync(Path.Combine(sample, "out", "sample"));
    }

    /// <summary>The build configuration of these tests.</summary>
    private static string Configuration => new DirectoryInfo(AppContext.BaseDirectory).Parent!.Name;

    private string Packages => Path.Combine(_folder, "packages");

    private string Version =>
        Path.GetFileNameWithoutExtension(Directory.GetFiles(Packages, "RedisClone.Server.*.nupkg").Single())["RedisClone.Server.".Length..];

    private HashSet<string> Entries(string package, string kind)
    {
        using ZipArchive archive = ZipFile.OpenRead(Path.Combine(Packages, $"{package}.{Version}.{kind}"));
        return [.. archive.Entries.Select(entry => entry.FullName)];
    }

    /// <summary>
    /// Runs dotnet without the package cache of the user, which may contain an older build of the same version.
    /// </summary>
    private async Task DotnetAsync(params string[] arguments)
    {
        (int code, string output) = await Repository.RunAsync("dotnet", arguments, [new("NUGET_PACKAGES", Path.Combine(_folder, "cache"))]);
        Assert.True(code == 0, output);
    }
}
