using System.Globalization;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests;

/// <summary>Tests the engine with its threads: order, durability, failures and rebuilds.</summary>
public sealed class EngineTests(ITestOutputHelper output)
{
    private static readonly JournalNames Names = JournalRun.Names;

    [Theory]
    [InlineData(FlushPolicy.Always)]
    [InlineData(FlushPolicy.EverySecond)]
    [InlineData(FlushPolicy.No)]
    public void ManyProducersShareOneOrder(FlushPolicy policy)
    {
        using var directory = new TemporaryDirectory();
        var names = new JournalNames(directory.Path);
        const int Loops = 3, Each = 3000;
        var observer = new ManualObserver();
        using (var journal = JournalSetup.Start(RealDisk.Instance, names, policy, observer, Loops))
        {
            var threads = Enumerable.Range(0, Loops)
                .Select(loop => new Thread(() => Produce(journal, observer, loop, Each))).ToList();
            threads.ForEach(t => t.Start());
            if (policy != FlushPolicy.No)
            {
                // Rewrites while the producers run: a base is made while the increments grow.
                for (var i = 0; i < 3; i++)
                {
                    var lsn = journal.SwitchIncrement();
                    File.WriteAllBytes(names.PathOf(names.TemporaryBase), Collector.Snapshot(lsn));
                    Assert.Null(journal.InstallBase(lsn, rdb: true));
                }
            }
            threads.ForEach(t => t.Join());
            Assert.True(journal.Flush());
            Assert.Equal(journal.Lsn, journal.DurableLsn);
            output.WriteLine(journal.Statistics.ToString());
        }
        var found = new Collector();
        Assert.True(JournalDirectory.TryReadManifest(RealDisk.Instance, names, out var manifest, out _));
        var report = new JournalReader(RealDisk.Instance, names, manifest, new()).Read(found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        CheckOrder(found, Loops, Each, exact: policy == FlushPolicy.No);
        Assert.Equal(policy == FlushPolicy.No ? 0 : 1, Directory.GetFiles(names.Directory, "*.base.rdb").Length);
    }

    [Fact]
    public void EverySecondBecomesDurableWithoutARequest()
    {
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(new SimulatedDisk(), Names, FlushPolicy.EverySecond, observer);
        var lsn = journal.Append(0, Units.Command("SET", "a", "b"));
        journal.Appended();
        Assert.True(observer.WaitFor(lsn));
    }

    [Fact]
    public void WritesGoOnWhileAFlushTakesLong()
    {
        var disk = new SimulatedDisk();
        using var flushing = new ManualResetEventSlim();
        using var goOn = new ManualResetEventSlim();
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(disk, Names, FlushPolicy.EverySecond, observer);
        disk.BeforeFlush = () =>
        {
            flushing.Set();
            goOn.Wait();
        };
        var first = journal.Append(0, Units.Command("SET", "a", "1"));
        journal.Appended();
        flushing.Wait();
        var second = journal.Append(0, Units.Command("SET", "a", "2"));
        journal.Appended();
        observer.WaitForWrite(journal, second);
        Assert.True(journal.DurableLsn < first);
        goOn.Set();
        Assert.True(observer.WaitFor(second));
    }

    [Fact]
    public void AFlushAheadCoversWhatWasWritten()
    {
        using var journal = JournalSetup.Start(new SimulatedDisk(), Names, FlushPolicy.No, new Silent());
        var lsn = journal.Append(0, Units.Command("SET", "a", "1"));
        journal.RoundEnding(0);
        Assert.Equal(lsn, journal.WrittenLsn);
        Assert.True(journal.DurableLsn < lsn);
        journal.FlushAhead();
        Assert.Equal(lsn, journal.DurableLsn);
    }

    [Theory]
    [InlineData(FlushPolicy.EverySecond)]
    [InlineData(FlushPolicy.No)]
    public void AWriteWithoutAFlushIsReported(FlushPolicy policy)
    {
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(new SimulatedDisk(), Names, policy, observer);
        var lsn = journal.Append(0, Units.Command("SET", "a", "1"));
        journal.RoundEnding(0);
        observer.WaitForWrite(journal, lsn);
    }

    [Fact]
    public void AnIdleJournalWritesADurableMark()
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(disk, Names, FlushPolicy.Always, observer);
        var lsn = journal.Append(0, Units.Command("SET", "a", "b"));
        journal.Appended();
        Assert.True(observer.WaitFor(lsn));
        var mark = System.Text.Encoding.ASCII.GetBytes($"#RC1 lsn={lsn} durable={lsn} len=0 ");
        for (var i = 0; disk.Clone()[Names.PathOf(Names.Increment(1))].AsSpan().IndexOf(mark) < 0; i++)
        {
            Assert.True(i < 600, "no mark is written");
            Thread.Sleep(100);
        }
    }

    [Theory]
    [InlineData(DiskCall.Write)]
    [InlineData(DiskCall.Flush)]
    public void AFailureIsFinalUntilARebuildSucceeds(DiskCall call)
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        var directory = JournalDirectory.TryOpen(disk, Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        var first = journal.Append(0, Units.Command("SET", "a", "1"));
        journal.Appended();
        Assert.True(observer.WaitFor(first));

        disk.FailNext(call);
        var second = journal.Append(0, Units.Command("SET", "a", "2"));
        journal.Appended();
        Assert.False(observer.WaitFor(second));
        Assert.Equal(JournalState.Failed, journal.State);
        Assert.Contains("No space left", journal.Failure, StringComparison.Ordinal);
        Assert.Equal(first, journal.DurableLsn);

        // Further appends do not repair the journal. The units are discarded, and nothing is acknowledged.
        var third = journal.Append(0, Units.Command("SET", "a", "3"));
        journal.RoundEnding(0);
        Assert.False(journal.Flush());
        Assert.Equal(first, journal.DurableLsn);
        Assert.Equal(0, journal.BytesPending);

        var lsn = journal.BeginRebuild(directory);
        Assert.Equal(third, lsn);
        var fourth = journal.Append(0, Units.Command("SET", "b", "4"));
        Assert.True(journal.Flush());
        Assert.Equal(first, journal.DurableLsn);
        JournalSetup.WriteBase(disk, lsn);
        Assert.Null(journal.InstallBase(lsn, rdb: true));
        Assert.Equal(JournalState.Running, journal.State);
        Assert.True(journal.DurableLsn >= fourth);
        Assert.Null(journal.Stop());
        JournalSetup.AssertContent(disk, lsn, Units.Command("SET", "b", "4"));
    }

    [Fact]
    public void ABaseThatFailsLeavesTheJournalRunning()
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(disk, Names, FlushPolicy.Always, observer);
        var lsn = journal.SwitchIncrement();
        Assert.NotNull(journal.InstallBase(lsn, rdb: true));
        Assert.Equal(JournalState.Running, journal.State);
        lsn = journal.Append(0, Units.Command("SET", "a", "b"));
        journal.Appended();
        Assert.True(observer.WaitFor(lsn));
    }

    [Fact]
    public void ABaseOfCommandsMayHaveAnyPosition()
    {
        var disk = new SimulatedDisk();
        using var journal = JournalSetup.Start(disk, Names, FlushPolicy.EverySecond, new Silent());
        journal.Append(0, Units.Command("SET", "a", "1"));
        journal.Append(0, Units.Command("SET", "a", "2"));
        var lsn = journal.SwitchIncrement();
        using (var file = disk.Open(Names.PathOf(Names.TemporaryBase), DiskOpen.New))
        {
            file.Write(0, BaseOfCommands(lsn, Units.Command("SET", "a", "2")));
            file.Flush();
        }
        Assert.Null(journal.InstallBase(lsn, rdb: false));
        var last = journal.Append(0, Units.Command("SET", "b", "3"));
        Assert.Null(journal.Stop());
        var found = new Collector();
        var report = JournalRun.Read(disk, found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        Assert.Equal(last, report.Lsn);
        Assert.Equal([Units.Command("SET", "a", "2"), Units.Command("SET", "b", "3")], found.Units.Select(u => u.Bytes));
    }

    /// <summary>No power loss explains a base that is cut or changed, even where it is cut between two commands.</summary>
    [Fact]
    public void ADamagedBaseOfCommandsIsRefused()
    {
        var disk = new SimulatedDisk();
        using var journal = JournalSetup.Start(disk, Names, FlushPolicy.EverySecond, new Silent());
        journal.Append(0, Units.Command("SET", "a", "1"));
        var lsn = journal.SwitchIncrement();
        byte[] intact = BaseOfCommands(lsn, [.. Units.Command("SET", "a", "2"), .. Units.Command("SET", "b", "2")]);
        using (var file = disk.Open(Names.PathOf(Names.TemporaryBase), DiskOpen.New))
        {
            file.Write(0, intact);
            file.Flush();
        }
        Assert.Null(journal.InstallBase(lsn, rdb: false));
        Assert.Null(journal.Stop());
        Assert.Equal(JournalOutcome.Clean, JournalRun.Read(disk, new Collector()).Outcome);
        string path = Names.PathOf(Names.Base(1, rdb: false));
        for (var i = 0; i < intact.Length; i++)
        {
            disk[path] = intact[..i];
            Assert.True(JournalRun.Read(disk, new Collector()).Outcome == JournalOutcome.Refused, $"cut at {i}");
            disk[path] = [.. intact[..i], (byte)(intact[i] ^ 1), .. intact[(i + 1)..]];
            Assert.True(JournalRun.Read(disk, new Collector()).Outcome == JournalOutcome.Refused, $"changed at {i}");
        }
    }

    private static byte[] BaseOfCommands(long lsn, byte[] commands)
    {
        byte[] content = [.. BasePosition.Line(lsn), .. BaseEnd.Announcement, .. commands];
        var end = new BaseEnd();
        end.Add(content);
        return [.. content, .. end.Line()];
    }

    [Fact]
    public void ABackupIsTheJournalAtOneMoment()
    {
        using var root = new TemporaryDirectory();
        using var copyRoot = new TemporaryDirectory();
        var names = new JournalNames(root.Path);
        var copy = new JournalNames(copyRoot.Path);
        var observer = new ManualObserver();
        using var journal = JournalSetup.Start(RealDisk.Instance, names, FlushPolicy.EverySecond, observer, loops: 2);
        var producer = new Thread(() => Produce(journal, observer, 1, 20_000));
        producer.Start();
        for (var i = 0; i < 50; i++) journal.Append(0, Units.Command("SET", "0", i.ToString(CultureInfo.InvariantCulture)));
        var before = journal.Lsn;
        Assert.Null(journal.Backup(copy));
        Assert.NotNull(journal.Backup(copy));
        producer.Join();
        Assert.True(JournalDirectory.TryReadManifest(RealDisk.Instance, copy, out var manifest, out _));
        var found = new Collector();
        var report = new JournalReader(RealDisk.Instance, copy, manifest, new()).Read(found);
        Assert.Equal(JournalOutcome.Clean, report.Outcome);
        Assert.True(report.Lsn >= before);
        Assert.Equal(50, found.Units.Count(u => u.Database == 0));
    }

    [Fact]
    public void ASingleWriterAllocatesNothing()
    {
        using var root = new TemporaryDirectory();
        using var journal = JournalSetup.Start(RealDisk.Instance, new(root.Path), FlushPolicy.Always, new Silent());
        var unit = Units.Command("SET", "key", new string('x', 256));
        Round(100);
        // A slow disk may cause one more buffer in one attempt, but not in all of them.
        var least = long.MaxValue;
        for (var attempt = 0; attempt < 10; attempt++)
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            Round(50);
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        // The allocations of the few writes that fill the file.
        Assert.InRange(least, 0, 4096);
        Assert.True(journal.Flush());
        Assert.Equal(journal.Lsn, journal.DurableLsn);

        void Round(int count)
        {
            for (var i = 0; i < count; i++)
            {
                journal.RoundStarting(0);
                journal.Append(0, unit);
                journal.RoundEnding(0);
                // Each write follows the acknowledgement of the previous one.
                while (journal.DurableLsn < journal.Lsn) Thread.Yield();
            }
        }
    }

    [Fact]
    public void TheSecondServerOnADirectoryRefuses()
    {
        using var root = new TemporaryDirectory();
        var names = new JournalNames(root.Path);
        var first = JournalDirectory.TryOpen(RealDisk.Instance, names, out _);
        Assert.NotNull(first);
        Assert.Null(JournalDirectory.TryOpen(RealDisk.Instance, names, out var error));
        Assert.Contains("in use by another server", error, StringComparison.Ordinal);
        first.Dispose();
        using var second = JournalDirectory.TryOpen(RealDisk.Instance, names, out _);
        Assert.NotNull(second);
    }

    [Fact]
    public void UnitsOfAnySizeAreRecovered()
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        var sizes = new[] { 0, 1, 300_000, 262_144, 5_000_000, 17 };
        using (var journal = JournalSetup.Start(disk, Names, FlushPolicy.Always, observer))
            foreach (var size in sizes) Assert.True(observer.WaitFor(AppendValue(journal, size)));
        var found = new Collector();
        Assert.Equal(JournalOutcome.Clean, JournalRun.Read(disk, found).Outcome);
        Assert.Equal(sizes, found.Units.Select(u => u.Bytes.Length - Units.Command("SET", "k", new('x', 0)).Length - Digits(u)));
    }

    private static int Digits(Unit unit)
    {
        // The length of a value takes more digits than the length of an empty one.
        var text = System.Text.Encoding.Latin1.GetString(unit.Bytes.AsSpan(0, Math.Min(60, unit.Bytes.Length)));
        return text.Split("\r\n")[5].Length - 2;
    }

    private static long AppendValue(JournalEngine journal, int size)
    {
        journal.RoundStarting(0);
        var lsn = journal.Append(0, new System.Buffers.ReadOnlySequence<byte>(Units.Command("SET", "k", new string('x', size))));
        journal.RoundEnding(0);
        return lsn;
    }

    private static void Produce(JournalEngine journal, ManualObserver observer, int loop, int count)
    {
        for (var i = 0; i < count;)
        {
            journal.RoundStarting(loop);
            long lsn = 0;
            for (var batch = 0; batch < 1 + i % 5 && i < count; batch++, i++)
                lsn = journal.Append(
                    loop,
                    Units.Command("SET", loop.ToString(CultureInfo.InvariantCulture), i.ToString(CultureInfo.InvariantCulture)));
            journal.RoundEnding(loop);
            if (journal.Policy == FlushPolicy.Always) Assert.True(observer.WaitFor(lsn));
        }
    }

    /// <summary>
    /// Checks that the units of each producer are complete and in order. After a base, only later units are present.
    /// </summary>
    private static void CheckOrder(Collector found, int loops, int each, bool exact)
    {
        var next = Enumerable.Repeat(-1, loops).ToArray();
        long last = found.SnapshotLsn;
        foreach (var unit in found.Units)
        {
            Assert.True(unit.Lsn > last);
            last = unit.Lsn;
            var words = System.Text.Encoding.ASCII.GetString(unit.Bytes).Split("\r\n");
            var loop = int.Parse(words[4], CultureInfo.InvariantCulture);
            var number = int.Parse(words[6], CultureInfo.InvariantCulture);
            Assert.Equal(loop, unit.Database);
            Assert.True(next[loop] == number || (next[loop] < 0 && !exact) || (next[loop] < 0 && number == 0));
            next[loop] = number + 1;
        }
        for (var loop = 0; loop < loops; loop++) Assert.True(next[loop] == each || (!exact && next[loop] == -1));
    }

    private sealed class Silent : IJournalObserver
    {
        public void OnDurable(long lsn) { }

        public void OnFailed(string reason) { }
    }
}
