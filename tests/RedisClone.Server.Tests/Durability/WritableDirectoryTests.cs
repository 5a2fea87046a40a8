using RedisClone.Engine.Durability;

namespace RedisClone.Server.Tests.Durability;

public sealed class WritableDirectoryTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-writable-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void One_that_is_leaves_no_trace_of_the_question()
    {
        Assert.Null(WritableDirectory.Problem(new WatchedDisk(), Path.Combine(_folder, "probe")));
        Assert.Empty(Directory.EnumerateFileSystemEntries(_folder));
    }

    [Fact]
    public void One_that_is_not_is_named_with_who_cannot_write_and_why()
    {
        string? problem = WritableDirectory.Problem(new WatchedDisk { Faults = Faults.Open }, Path.Combine(_folder, "probe"));
        Assert.EndsWith($" cannot write to the directory {_folder} (No space left on device)", problem, StringComparison.Ordinal);
    }
}
