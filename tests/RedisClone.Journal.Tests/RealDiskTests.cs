using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Tests.Support;

namespace RedisClone.Journal.Tests;

/// <summary>Tests that files that are not regular are refused. An open of a FIFO blocks until another process opens it.</summary>
public sealed class RealDiskTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TemporaryDirectory _root = new();

    public void Dispose() => _root.Dispose();

    public static TheoryData<string, DiskOpen> Kinds()
    {
        var kinds = new TheoryData<string, DiskOpen>();
        foreach (string kind in new[] { "fifo", "link", "device", "directory" })
            foreach (DiskOpen how in Enum.GetValues<DiskOpen>()) kinds.Add(kind, how);
        return kinds;
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task OnlyRegularFilesAreOpened(string kind, DiskOpen how)
    {
        if (!OperatingSystem.IsLinux()) return;
        string path = Path.Combine(_root.Path, "file");
        if (kind == "fifo") SpecialFile.MakeFifo(path);
        else if (kind == "directory") Directory.CreateDirectory(path);
        else if (kind == "device") File.CreateSymbolicLink(path, "/dev/zero");
        else
        {
            SpecialFile.MakeFifo(path + ".fifo");
            File.CreateSymbolicLink(path, path + ".fifo");
        }
        var failure = await Assert.ThrowsAsync<IOException>(
            () => Task.Run(() => RealDisk.Instance.Open(path, how).Dispose()).WaitAsync(Patience));
        Assert.Equal(path + (kind == "directory" ? " is a directory" : " is not a regular file"), failure.Message);
    }

    [Fact]
    public void AFileThatCannotBeExaminedIsNotTakenForMissing()
    {
        if (!OperatingSystem.IsLinux()) return;
        string path = Path.Combine(_root.Path, "file");
        Assert.False(RealDisk.Instance.Exists(path));
        Assert.False(RealDisk.Instance.Exists(Path.Combine(path, "below")));
        File.CreateSymbolicLink(path, path);
        Assert.Throws<IOException>(() => RealDisk.Instance.Exists(path));
        Assert.Throws<IOException>(() => RealDisk.Instance.DirectoryExists(path));
        string link = Path.Combine(_root.Path, "link");
        File.CreateSymbolicLink(link, Path.Combine(_root.Path, "volume", "file"));
        Assert.True(RealDisk.Instance.Exists(link));
        Assert.True(RealDisk.Instance.DirectoryExists(_root.Path));
        Assert.False(RealDisk.Instance.Exists(_root.Path));
    }

    [Fact]
    public void AFileThatIsNotRegularIsNoLock()
    {
        if (!OperatingSystem.IsLinux()) return;
        string path = Path.Combine(_root.Path, "file");
        SpecialFile.MakeFifo(path);
        Assert.Throws<IOException>(() => RealDisk.Instance.TryLock(path));
        Assert.Throws<IOException>(() => RealDisk.Instance.TryLock(_root.Path));
    }

    /// <summary>The single file of Redis before 7.0 is checked before a manifest names it.</summary>
    [Fact]
    public void AnOldStyleFileThatIsNotRegularIsLeftAlone()
    {
        if (!OperatingSystem.IsLinux()) return;
        var names = new JournalNames(_root.Path);
        SpecialFile.MakeFifo(names.OldStyleFile);
        Assert.Null(JournalDirectory.TryOpen(RealDisk.Instance, names, out string error, isStart: true));
        Assert.Contains("appendonly.aof is not a regular file", error, StringComparison.Ordinal);
        Assert.True(File.Exists(names.OldStyleFile));
        Assert.Equal([names.Lock], Directory.GetFiles(names.Directory).Select(Path.GetFileName));
    }

    [Fact]
    public void ADirectoryInThePlaceOfAnOldStyleFileIsRefused()
    {
        var names = new JournalNames(_root.Path);
        Directory.CreateDirectory(names.OldStyleFile);
        Assert.Null(JournalDirectory.TryOpen(RealDisk.Instance, names, out string error, isStart: true));
        Assert.Contains("appendonly.aof is a directory", error, StringComparison.Ordinal);
        // The journal's own directory may have the name.
        names = new JournalNames(_root.Path, "data", "data");
        using JournalDirectory? opened = JournalDirectory.TryOpen(RealDisk.Instance, names, out error, isStart: true);
        Assert.True(opened is not null, error);
    }

    [Fact]
    public void RegularFilesAndMissingFilesAreOpenedAsBefore()
    {
        string path = Path.Combine(_root.Path, "file");
        Assert.Throws<FileNotFoundException>(() => RealDisk.Instance.Open(path, DiskOpen.Read));
        Assert.Throws<DirectoryNotFoundException>(() => RealDisk.Instance.Open(Path.Combine(path, "file"), DiskOpen.New));
        using (var file = RealDisk.Instance.Open(path, DiskOpen.New)) file.Write(0, "x"u8);
        File.CreateSymbolicLink(path + ".link", path);
        using var linked = RealDisk.Instance.Open(path + ".link", DiskOpen.Existing);
        Assert.Equal(1, linked.Length);
    }

    [Theory]
    [InlineData("appendonly.aof.manifest")]
    [InlineData("appendonly.aof.1.base.rdb")]
    [InlineData("appendonly.aof.1.incr.aof")]
    [InlineData("appendonly.aof.2.incr.aof")]
    public async Task AJournalWithAFifoIsRefused(string name)
    {
        if (!OperatingSystem.IsLinux()) return;
        var names = new JournalNames(_root.Path);
        Directory.CreateDirectory(names.Directory);
        File.WriteAllText(
            names.PathOf(names.Manifest),
            "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n");
        File.WriteAllBytes(names.PathOf(names.Base(1, rdb: true)), OfflineTests.Base(0));
        File.WriteAllText(names.PathOf(names.Increment(1)), "");
        File.Delete(names.PathOf(name));
        SpecialFile.MakeFifo(names.PathOf(name));
        string error = await Task.Run(() =>
        {
            using var directory = JournalDirectory.TryOpen(RealDisk.Instance, names, out string reason);
            return directory is null ? reason : JournalTools.Verify(RealDisk.Instance, names, new(), new StructureCheck()).Reason;
        }).WaitAsync(Patience);
        Assert.Contains($"{name} is not a regular file", error, StringComparison.Ordinal);
    }
}
