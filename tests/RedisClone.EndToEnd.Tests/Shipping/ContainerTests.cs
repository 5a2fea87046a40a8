using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>The container image, and the descriptions for docker and Kubernetes.</summary>
public sealed class ContainerTests(ITestOutputHelper output)
{
    /// <summary>RC_IMAGE=built means that tests/run has built the image.</summary>
    [Fact]
    public async Task TheImageBuildsAndRuns()
    {
        string[] arguments = Environment.GetEnvironmentVariable("RC_IMAGE") is { Length: > 0 } step ? [step] : [];
        (int code, string printed) = await Repository.RunAsync(Repository.PathOf("tests/container"), arguments);
        output.WriteLine(printed);
        Assert.True(code == 0 && printed.EndsWith("the image works\n", StringComparison.Ordinal), printed);
        IEnumerable<string> figures = printed.Split('\n').Where(line =>
            line.StartsWith("size:", StringComparison.Ordinal) || line.StartsWith("cold start", StringComparison.Ordinal));
        Console.WriteLine(string.Join('\n', figures));
    }

    [Fact]
    public async Task EveryDescriptionIsValidYaml()
    {
        const string Read = "import sys, yaml\nfor name in sys.argv[1:]:\n    assert all(yaml.safe_load_all(open(name))), name";
        string[] files = Directory.GetFiles(Repository.PathOf("docker"), "*.yaml", SearchOption.AllDirectories);
        Assert.True(files.Length >= 5);
        (int code, string printed) = await Repository.RunAsync("/usr/bin/python3", ["-c", Read, .. files]);
        Assert.True(code == 0, printed);
    }

    [Fact]
    public async Task EveryManifestFitsTheSchemasOfKubernetes()
    {
        string[] files = Directory.GetFiles(Repository.PathOf("docker"), "kubernetes*.yaml");
        (int code, string printed) = await Repository.RunAsync("node", [Repository.PathOf("tests/clients/manifests.mjs"), .. files]);
        Assert.True(code == 0, printed);
        Assert.Contains("StatefulSet redisclone-sentinel is valid", printed, StringComparison.Ordinal);
        Assert.Contains("StatefulSet redisclone-cluster is valid", printed, StringComparison.Ordinal);
    }
}
