using System.Diagnostics;
using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>The health check of a container. It finds the server by the arguments of its process.</summary>
public sealed class HealthTests
{
    [Fact]
    public void AServerThatAnswersIsHealthy()
    {
        using ServerProcess server = ServerProcess.Ours();
        Assert.Equal((0, "+PONG\n"), Ask(server.Id));
    }

    [Fact]
    public void TheCheckUsesThePasswordOfTheConfiguration()
    {
        using ServerProcess server = ServerProcess.Ours("--requirepass", "secret");
        Assert.Equal((0, "+PONG\n"), Ask(server.Id));
    }

    [Fact]
    public void AServerThatIsAChildOfTheFirstProcessIsFound()
    {
        using Process first = Process.Start("timeout", ["600", ServerProcess.OurProgram, "--port", $"{Ports.Free()}", "--bind", "127.0.0.1", "--save", ""]);
        try
        {
            while (Ask(first.Id) != (0, "+PONG\n")) Assert.False(first.HasExited);
        }
        finally
        {
            first.Kill(entireProcessTree: true);
        }
    }

    [Fact]
    public void AnotherProcessIsNotHealthy()
    {
        Assert.Equal(1, Ask(Environment.ProcessId).ExitCode);
        Assert.Equal(1, Ask(int.MaxValue).ExitCode);
    }

    [Theory]
    [InlineData("redis-server")]
    [InlineData("/usr/local/bin/redis-server")]
    public void ACommandForTheRedisImageMayStartWithItsProgramName(string program)
    {
        (int code, string output) = ServerProcess.RunOurs(program, "--version");
        Assert.True(code == 0, output);
        Assert.StartsWith("Redis server v=", output, StringComparison.Ordinal);
    }

    private static (int ExitCode, string Output) Ask(int process) => ServerProcess.RunOurs("health", process.ToString(CultureInfo.InvariantCulture));
}
