using RedisClone.Engine.Durability;

namespace RedisClone.Server.Tests.Durability;

public sealed class WritableDirectoryTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-writable-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void TheCheckOfAWritableDirectoryLeavesNoFile()
    {
        Assert.Null(WritableDirectory.Problem(new WatchedDisk(), Path.Combine(_folder, "probe")));
        Assert.Empty(Directory.EnumerateFileSystemEntries(_folder));
    }

    [Fact]
    public void TheProblemNamesTheDirectoryTheUserAndTheReason()
    {
        string? problem = WritableDirectory.Problem(new WatchedDisk { Faults = Faults.Open }, Path.Combine(_folder, "probe"));
        Assert.EndsWith($" cannot write to the directory {_folder} (No space left on device)", problem, StringComparison.Ordinal);
    }
}
