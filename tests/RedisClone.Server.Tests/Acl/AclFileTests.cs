using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Acl;

/// <summary>Users that are defined in files: the ACL file and the configuration file.</summary>
public sealed class AclFileTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-acl-").FullName;

    private string AclPath => Path.Combine(_folder, "users.acl");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task SaveAndLoadRestoreTheSameUsers()
    {
        File.WriteAllText(AclPath, "user alice on >pw ~* &* +@all\n\nuser bob on nopass ~b* +get (+set ~w)\n");
        await using RunningServer server = await StartAsync();
        using TestClient admin = server.Connect(), alice = server.Connect(), doug = server.Connect();
        Assert.Equal("[alice bob default]", admin.Run("ACL USERS"));
        Assert.Equal("OK", alice.Run("AUTH alice pw"));
        Assert.Equal("OK", admin.Run("ACL SETUSER carol on +get"));
        Assert.Equal("OK", admin.Run("ACL SAVE"));
        string saved = admin.Run("ACL LIST");
        Assert.Equal(File.ReadAllLines(AclPath), saved.Trim('[', ']').Split("user ").Skip(1).Select(u => "user " + u.Trim()));
        admin.Run("ACL SETUSER doug on nopass +@all ~*");
        doug.Run("AUTH doug x");
        Assert.Equal("OK", admin.Run("ACL LOAD"));
        Assert.Equal(saved, admin.Run("ACL LIST"));
        // Clients of users in the file stay connected. Other clients are disconnected.
        Assert.Equal("alice", alice.Run("ACL WHOAMI"));
        Assert.Equal("", doug.ReadToEnd());
    }

    /// <summary>Two writers at a time shared a temporary file: the ACL file was empty for a moment, and a load then let everybody in.</summary>
    [Fact]
    public async Task ConcurrentSavesLeaveTheFileWhole()
    {
        string[] lines = [.. Enumerable.Range(0, 200).Select(i => $"user u{i} on nopass sanitize-payload resetchannels -@all +get")];
        File.WriteAllLines(AclPath, lines);
        await using RunningServer server = await StartAsync();
        using (TestClient client = server.Connect()) Assert.Equal("OK", client.Run("ACL SAVE"));
        Task[] savers = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            using TestClient client = server.Connect();
            for (int i = 0; i < 50; i++) Assert.Equal("OK", client.Run("ACL SAVE"));
        }))];
        while (!Task.WhenAll(savers).IsCompleted) Assert.Equal(lines.Length + 1, File.ReadAllLines(AclPath).Length);
        await Task.WhenAll(savers);
    }

    /// <summary>An open of a FIFO for reading blocks until another process opens it for writing.</summary>
    [Fact]
    public async Task AFileThatIsNotRegularIsNotLoaded()
    {
        if (!OperatingSystem.IsLinux()) return;
        File.WriteAllText(AclPath, "user alice on nopass +@all\n");
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        File.Delete(AclPath);
        SpecialFile.MakeFifo(AclPath);
        string reply = await Task.Run(() => client.Run("ACL LOAD")).WaitAsync(TimeSpan.FromSeconds(60));
        Assert.StartsWith("ERR Error loading ACLs, opening file ", reply, StringComparison.Ordinal);
        Assert.EndsWith(" is not a regular file", reply, StringComparison.Ordinal);
        Assert.Equal("[alice default]", client.Run("ACL USERS"));
    }

    [Theory]
    [InlineData("user a on\nuser a off\n", "Duplicate user 'a' found on line 2.")]
    [InlineData("usr a\n", ":1 should start with user keyword followed by the username.")]
    [InlineData("user a +nosuch >secret <other\n", ":1: Error in applying operation '+nosuch': Unknown command or category name in ACL.")]
    [InlineData("user a <secret #x\n", ":1: The password you are trying to remove from the user does not exist.")]
    [InlineData("user a (+get\n", "Unmatched parenthesis in selector definition.")]
    public async Task AnInvalidFileChangesNothingAndItsErrorShowsNoSecret(string text, string error)
    {
        File.WriteAllText(AclPath, "user alice on nopass +@all\n");
        await using RunningServer server = await StartAsync();
        using TestClient client = server.Connect();
        string before = client.Run("ACL LIST");
        File.WriteAllText(AclPath, text);
        string reply = client.Run("ACL LOAD");
        Assert.StartsWith("ERR ", reply);
        Assert.Contains(error, reply);
        Assert.EndsWith("WARNING: ACL errors detected, no change to the previously active ACL rules was performed", reply);
        Assert.DoesNotContain("secret", reply);
        Assert.Equal(before, client.Run("ACL LIST"));
    }

    [Fact]
    public void AServerDoesNotStartWithInvalidUsers()
    {
        Assert.Contains("No such file or directory", LoadWith(config => config.AclFile = "missing.acl"));
        Assert.Contains("Error in ACL SETUSER modifier '+nosuch'", LoadWith(config => config.Users.Add(Line("user a +nosuch"))));
        Assert.Contains("but not both", LoadWith(config =>
        {
            config.AclFile = "users.acl";
            config.Users.Add(Line("user a on"));
        }));
        Assert.Null(LoadWith(config => config.Users.Add(Line("user a on ~* +@all"))));
    }

    [Fact]
    public void ADuplicateUserIsAnErrorInTheConfiguration()
    {
        ConfigLoad load = ServerConfig.Load(["--user", "foo", "--user", "foo"], new System.Collections.Hashtable());
        Assert.Null(load.Config);
        Assert.Contains("Duplicate user found", load.Error);
    }

    [Fact]
    public async Task RewritingTheConfigurationKeepsTheUsers()
    {
        string path = Path.Combine(_folder, "redis.conf");
        File.WriteAllText(path, "user a on >pw ~k* +get\n");
        ConfigLoad load = ServerConfig.Load([path, "--dir", _folder], new System.Collections.Hashtable());
        await using (RunningServer server = await RunningServer.StartAsync(load.Config!, TransportKind.EventLoop))
        {
            using TestClient client = server.Connect();
            client.Run("ACL SETUSER a +set");
            client.Run("ACL SETUSER b on nopass +@all");
            Assert.Equal("OK", client.Run("CONFIG REWRITE"));
        }
        string text = File.ReadAllText(path);
        string hash = Convert.ToHexStringLower(System.Security.Cryptography.SHA256.HashData("pw"u8));
        Assert.Contains($"user a on sanitize-payload #{hash} ~k* resetchannels -@all +get +set\n", text);
        Assert.Contains("user b on nopass sanitize-payload resetchannels +@all\n", text);
        Assert.Contains("user default on nopass sanitize-payload ~* &* +@all\n", text);
    }

    private Task<RunningServer> StartAsync() => RunningServer.StartAsync(TransportKind.EventLoop, config =>
    {
        config.Dir = _folder;
        config.AclFile = "users.acl";
    });

    private string? LoadWith(Action<ServerConfig> configure)
    {
        var config = new ServerConfig { Dir = _folder, Shards = 4 };
        configure(config);
        return new ServerCore(config, new ConfigTable(config), new CommandTable(CommandFamilies.All), NullLogger<ServerCore>.Instance).Prepare();
    }

    private static ConfigDirective Line(string text) => new(text.Split(' '), 1, text);
}
