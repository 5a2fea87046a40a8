using System.Globalization;
using RedisClone.EndToEnd.Tests.Clients;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Durability;

/// <summary>How far long work is: lines where the output goes to a file, and a bar on a terminal, which the program script provides.</summary>
public sealed class ProgressTests : IDisposable
{
    private const string Line = @": \d+ %, [\d.]+ K?B of [\d.]+ KB, [\d.]+ K?B a second, ";

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-progress-").FullName;

    public ProgressTests()
    {
        using ServerProcess server = ServerProcess.Ours("--dir", _folder);
        using RespClient client = server.Connect();
        client.Call("EVAL", "for i = 1, 20000 do redis.call('SET', 'key:' .. i, i .. string.rep('x', i % 10)) end", "0");
        client.Expect("+OK", "SAVE");
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void ALoadAndAVerificationWriteLines()
    {
        using (ServerProcess loading = ServerProcess.OursStarting("--dir", _folder, "--key-load-delay", "2000"))
        {
            while (!loading.Output.Contains(" left", StringComparison.Ordinal)) Thread.Sleep(50);
            Assert.Matches(@"\* Loading" + Line, loading.Output);
        }
        (int code, string output) = ServerProcess.RunOurs("verify", _folder, "--key-load-delay", "600");
        Assert.Equal(0, code);
        Assert.Matches("Verifying" + Line, output);
    }

    [Fact]
    public async Task ATerminalShowsABar()
    {
        // The script ends after the program, and the program after the load.
        string command = string.Create(CultureInfo.InvariantCulture, $"{ServerProcess.OurProgram} verify {_folder} --key-load-delay 150");
        (int code, string output) = await Repository.RunAsync("script", ["-qec", command, "/dev/null"]);
        Assert.True(code == 0, output);
        Assert.Matches(@"\e\[\?7lVerifying \[#*\.*\] \d+ %, ", output);
        // The report stands where the bar was.
        Assert.Matches(@"\r\e\[K[^\e]+dump.rdb: whole", output);
    }

    [Fact]
    public async Task AServerOnATerminalShowsABarWhileItLoads()
    {
        string command = string.Create(CultureInfo.InvariantCulture, $"exec {ServerProcess.OurProgram} --port 0 --dir {_folder} --key-load-delay 5000");
        using var terminal = new ClientProgram("script", "-qec", command, "/dev/null");
        await terminal.ReadUntil("PID: ");
        string id = (await terminal.ReadUntil("\r")).Trim();
        await terminal.ReadUntil("\e[?7lLoading [");
        Assert.Matches(@"^#*\.*\] \d+ %, ", await terminal.ReadUntil("\e[?7h"));
        Assert.Equal(0, (await Repository.RunAsync("kill", "-TERM", id)).Code);
        Assert.Matches(@"\r\e\[K\d+:M [^\e]*$", await terminal.ReadUntil("Received SIGTERM"));
        await terminal.Finish();
    }
}
