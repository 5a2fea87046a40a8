using System.Buffers;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal.Tests;

/// <summary>An allocation that fails within the journal leaves no lock taken and no client waiting.</summary>
public sealed class FailedAllocationTests
{
    /// <summary>A segment of this size exceeds the maximum length of an array.</summary>
    private const int Impossible = int.MaxValue - Segment.HeaderRoom;

    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task AFailedAppendLeavesTheBufferUnchanged()
    {
        var buffer = new MergeBuffer(new WriterTuning { SegmentSize = Impossible });
        buffer.Resume(0);
        await Task.Run(() =>
        {
            for (var i = 0; i < 3; i++)
            {
                Assert.Throws<OutOfMemoryException>(() => buffer.Append(0, "*1\r\n$4\r\nPING\r\n"u8));
                Assert.Throws<OutOfMemoryException>(
                    () => buffer.Append(1, new ReadOnlySequence<byte>("*1\r\n$4\r\nPING\r\n"u8.ToArray())));
                Assert.Equal((0, false, 0), (buffer.Lsn, buffer.HasPending, buffer.OpenUnits));
            }
            Assert.Equal(0, buffer.Switch());
            Assert.True(buffer.TryTake(mayEndIncrement: true, out var group));
            Assert.Equal((0, true), (group.Length, group.EndsIncrement));
            buffer.Discard();
            Assert.Equal(14, buffer.Append(0, "*1\r\n$4\r\nPING\r\n"u8));
        }).WaitAsync(Patience);
    }

    /// <summary>
    /// Appends units of all lengths around the segment size in changing databases, so that reserved and used bytes
    /// occur in every proportion. Some units are given with their arrays.
    /// </summary>
    [Theory]
    [InlineData(0)]
    [InlineData(3)]
    public void TheReservationIsSufficient(int first)
    {
        var tuning = new WriterTuning { SegmentSize = 64, MaxGroup = 500, FirstSegments = first };
        var buffer = new MergeBuffer(tuning);
        buffer.Resume(0);
        var random = new Random(5);
        var appended = new MemoryStream();
        var taken = new MemoryStream();
        for (var i = 0; i < 20_000; i++)
        {
            var unit = new byte[random.Next(1, 300)];
            random.NextBytes(unit);
            appended.Write(unit);
            if (random.Next(5) == 0) buffer.AppendGiven(-1 - random.Next(2), new([0, .. unit, 0], 1, unit.Length));
            else buffer.Append(-1 - random.Next(2), unit);
            if (random.Next(4) > 0) continue;
            while (buffer.TryTake(mayEndIncrement: true, out var group))
            {
                for (var segment = group.First; segment is not null; segment = segment.Next) taken.Write(segment.Bytes);
                buffer.Return(group);
            }
        }
        while (buffer.TryTake(mayEndIncrement: true, out var group))
            for (var segment = group.First; segment is not null; segment = segment.Next) taken.Write(segment.Bytes);
        Assert.Equal(appended.ToArray(), taken.ToArray());
    }

    /// <summary>Units that are given with their arrays are written and recovered like others, also as the first of their group.</summary>
    [Fact]
    public void GivenUnitsAreRecovered()
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        var expected = new List<byte[]>();
        using (var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!)
        {
            using var journal = new JournalEngine(1, FlushPolicy.Always, observer, reserved: 1 << 20);
            Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
            for (var i = 0; i < 20; i++)
            {
                var unit = Units.Command("SET", $"key:{i}", new string((char)('a' + i), 100_000 * (i % 4)));
                var database = i % 3 / 2;
                var lsn = i % 2 == 0
                    ? journal.AppendGiven(database, new([.. "front"u8, .. unit, .. "tail"u8], 5, unit.Length))
                    : journal.Append(database, unit);
                expected.Add(unit);
                if (i % 5 > 1 && i < 19) continue;
                journal.Appended();
                Assert.True(observer.WaitFor(lsn));
            }
        }
        var collector = new Collector();
        Assert.Equal(JournalOutcome.Clean, JournalRun.Read(disk, collector).Outcome);
        Assert.Equal(expected, collector.Units.Select(unit => unit.Bytes));
    }

    /// <summary>An idle journal must not keep the memory of its last large unit.</summary>
    [Fact]
    public void AGivenArrayIsReleasedWhenItIsWritten()
    {
        var observer = new ManualObserver();
        using var directory = JournalDirectory.TryOpen(new SimulatedDisk(), JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        var array = Give(journal, out var lsn);
        journal.Appended();
        Assert.True(observer.WaitFor(lsn));
        Assert.True(SpinWait.SpinUntil(
            () =>
            {
                GC.Collect();
                return !array.IsAlive;
            },
            Patience));
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private static WeakReference Give(JournalEngine journal, out long lsn)
    {
        var unit = Units.Command("SET", "key", new string('v', 300_000));
        lsn = journal.AppendGiven(0, unit);
        return new(unit);
    }

    /// <summary>
    /// Any exception of a write is final, like a disk error: clients receive the error, and the journal thread
    /// continues.
    /// </summary>
    [Theory]
    [InlineData(FlushPolicy.Always)]
    [InlineData(FlushPolicy.EverySecond)]
    public void AnyExceptionOfAWriteIsAFailedWrite(FlushPolicy policy)
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, policy, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        disk.Failure = static () => new InvalidOperationException("a bug");
        disk.FailNext(policy == FlushPolicy.Always ? DiskCall.Write : DiskCall.Flush);
        var lsn = journal.Append(0, Units.Command("SET", "a", "b"));
        journal.Appended();
        Assert.False(observer.WaitFor(lsn));
        Assert.Equal((JournalState.Failed, "a bug"), (journal.State, journal.Failure));
        Assert.False(journal.Flush());
    }

    /// <summary>The runtime needs memory for a write of several parts. The disk has not failed then.</summary>
    [Theory]
    [InlineData(10)]
    [InlineData(1_000_000)]
    public void AWriteWithoutMemoryIsRepeated(int length)
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        var first = journal.Append(0, Units.Command("SET", "first", "value"));
        journal.Appended();
        Assert.True(observer.WaitFor(first));
        disk.Failure = static () => new OutOfMemoryException();
        disk.FailNext(DiskCall.Write);
        var lsn = journal.Append(0, Units.Command("SET", "key", new string('v', length)));
        journal.Appended();
        Assert.True(observer.WaitFor(lsn));
        Assert.Equal(JournalState.Running, journal.State);
    }

    [Fact]
    public void AFailedNotificationIsRepeated()
    {
        var observer = new ForgetfulObserver();
        using var directory = JournalDirectory.TryOpen(new SimulatedDisk(), JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, FlushPolicy.Always, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        observer.Fails = 3;
        var lsn = journal.Append(0, Units.Command("SET", "a", "b"));
        journal.Appended();
        Assert.True(SpinWait.SpinUntil(() => observer.Durable >= lsn, Patience));
        Assert.Equal(JournalState.Running, journal.State);
    }

    private sealed class ForgetfulObserver : IJournalObserver
    {
        private long _durable;

        public int Fails { get; set; }

        public long Durable => Volatile.Read(ref _durable);

        public void OnDurable(long lsn)
        {
            if (Fails-- > 0) throw new OutOfMemoryException();
            Volatile.Write(ref _durable, lsn);
        }

        public void OnFailed(string reason) => throw new OutOfMemoryException();
    }
}
