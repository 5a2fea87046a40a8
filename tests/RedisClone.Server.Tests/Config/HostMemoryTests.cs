using RedisClone.Configuration;

namespace RedisClone.Server.Tests.Config;

/// <summary>The available memory, from the files of Linux: of a machine, of a service, of a container.</summary>
public sealed class HostMemoryTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("redisclone-host-").FullName;

    public HostMemoryTests() => Write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:         1 kB\n");

    public void Dispose() => Directory.Delete(_root, recursive: true);

    private long Read() => HostMemory.Read(_root, otherwise: 5);

    [Fact]
    public void WithoutGroupsTheLimitIsThatOfTheMachine() => Assert.Equal(8L << 30, Read());

    [Fact]
    public void WithoutReadableFilesTheGivenValueIsReturned() =>
        Assert.Equal(5, HostMemory.Read(Path.Combine(_root, "none"), otherwise: 5));

    [Fact]
    public void Version2UsesTheLowestLimitOfTheGroupAndItsParents()
    {
        Write("proc/self/cgroup", "0::/system.slice/cache.service\n");
        Write("sys/fs/cgroup/system.slice/cache.service/memory.max", "max\n");
        Assert.Equal(8L << 30, Read());
        Write("sys/fs/cgroup/system.slice/memory.max", "1073741824\n");
        Assert.Equal(1L << 30, Read());
        Write("sys/fs/cgroup/system.slice/cache.service/memory.max", "536870912\n");
        Assert.Equal(512L << 20, Read());
    }

    [Fact]
    public void Version2IsReadInAContainer()
    {
        Write("proc/self/cgroup", "0::/\n");
        Write("sys/fs/cgroup/memory.max", "268435456\n");
        Assert.Equal(256L << 20, Read());
    }

    [Fact]
    public void Version1IsReadOutsideAndInsideAContainer()
    {
        Write("proc/self/cgroup", "12:cpu,cpuacct:/docker/a\n7:memory:/docker/a\n1:name=systemd:/docker/a\n");
        Write("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "9223372036854771712\n");
        Assert.Equal(8L << 30, Read());
        // The path in a container is the path on the machine, but the mounted directory is the group of the container.
        Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
        Assert.Equal(100L << 20, Read());
    }

    [Fact]
    public void AutoIsAShareOfTheMemory()
    {
        Write("proc/self/cgroup", "0::/\n");
        Write("sys/fs/cgroup/memory.max", "4096\n");
        var config = new ServerConfig { HostMemory = Read() };
        var table = new ConfigTable(config);
        Assert.Null(table.Set([new("maxmemory", "AUTO")]));
        Assert.Equal(3072, config.MaxMemoryBytes);
        Assert.Equal("3072", table.Get("maxmemory").Single().Value);
        // A failed change keeps the setting auto as well.
        Assert.NotNull(table.Set([new("maxmemory", "1mb"), new("maxmemory-policy", "nonsense")]));
        Assert.StartsWith("maxmemory auto\n", ConfigRewriter.Rewrite("maxmemory 5mb\n", config, describeUsers: null, everything: false));
        Assert.Null(table.Set([new("maxmemory", "3072")]));
        Assert.StartsWith("maxmemory 3kb\n", ConfigRewriter.Rewrite("maxmemory auto\n", config, describeUsers: null, everything: false));
    }

    private void Write(string path, string text)
    {
        string full = Path.Combine(_root, path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        File.WriteAllText(full, text);
    }
}
