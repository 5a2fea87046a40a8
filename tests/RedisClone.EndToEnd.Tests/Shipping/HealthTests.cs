using System.Diagnostics;
using System.Globalization;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Shipping;

/// <summary>What a container's health check runs: it finds the server by the arguments of its process.</summary>
public sealed class HealthTests
{
    [Fact]
    public void A_server_that_answers_is_healthy()
    {
        using ServerProcess server = ServerProcess.Ours();
        Assert.Equal((0, "+PONG\n"), Ask(server.Id));
    }

    [Fact]
    public void One_that_wants_a_password_is_given_that_of_its_configuration()
    {
        using ServerProcess server = ServerProcess.Ours("--requirepass", "secret");
        Assert.Equal((0, "+PONG\n"), Ask(server.Id));
    }

    [Fact]
    public void One_behind_a_first_process_of_another_kind_is_found()
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
    public void What_is_no_server_is_not()
    {
        Assert.Equal(1, Ask(Environment.ProcessId).ExitCode);
        Assert.Equal(1, Ask(int.MaxValue).ExitCode);
    }

    [Theory]
    [InlineData("redis-server")]
    [InlineData("/usr/local/bin/redis-server")]
    public void A_command_written_for_the_image_of_redis_begins_with_its_programs_name(string program)
    {
        (int code, string output) = ServerProcess.RunOurs(program, "--version");
        Assert.True(code == 0, output);
        Assert.StartsWith("Redis server v=", output, StringComparison.Ordinal);
    }

    private static (int ExitCode, string Output) Ask(int process) => ServerProcess.RunOurs("health", process.ToString(CultureInfo.InvariantCulture));
}
