using System.Buffers;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using RedisClone.Journal.Writing;

namespace RedisClone.Journal.Tests;

/// <summary>What throws within the journal for lack of memory leaves no gate closed and no client waiting.</summary>
public sealed class FailedAllocationTests
{
    /// <summary>A segment of this size is longer than an array can be.</summary>
    private const int Impossible = int.MaxValue - Segment.HeaderRoom;

    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task ABufferWithoutMemoryStaysAsItWas()
    {
        var buffer = new MergeBuffer(new WriterTuning { SegmentSize = Impossible });
        buffer.Resume(0);
        await Task.Run(() =>
        {
            for (var i = 0; i < 3; i++)
            {
                Assert.Throws<OutOfMemoryException>(() => buffer.Append(0, "*1\r\n$4\r\nPING\r\n"u8));
                Assert.Throws<OutOfMemoryException>(() => buffer.Append(1, new ReadOnlySequence<byte>("*1\r\n$4\r\nPING\r\n"u8.ToArray())));
                Assert.Equal((0, false, 0), (buffer.Lsn, buffer.HasPending, buffer.OpenUnits));
            }
            Assert.Equal(0, buffer.Switch());
            Assert.True(buffer.TryTake(mayEndIncrement: true, out var group));
            Assert.Equal((0, true), (group.Length, group.EndsIncrement));
            buffer.Discard();
            Assert.Equal(14, buffer.Append(0, "*1\r\n$4\r\nPING\r\n"u8));
        }).WaitAsync(Patience);
    }

    /// <summary>Reserved and used in every proportion: units of all lengths around those of segments, in changing databases.</summary>
    [Fact]
    public void WhatIsReservedIsEnough()
    {
        var tuning = new WriterTuning { SegmentSize = 64, MaxGroup = 500 };
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
            buffer.Append(-1 - random.Next(2), unit);
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

    /// <summary>Whatever a write throws is final, as a disk's error is: clients are told, and the thread goes on.</summary>
    [Theory]
    [InlineData(FlushPolicy.Always)]
    [InlineData(FlushPolicy.EverySecond)]
    public void AWriteThatThrowsAnythingIsAFailedWrite(FlushPolicy policy)
    {
        var disk = new SimulatedDisk();
        var observer = new ManualObserver();
        using var directory = JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!;
        using var journal = new JournalEngine(1, policy, observer);
        Assert.Null(journal.Start(directory, new() { Outcome = JournalOutcome.Absent }));
        disk.Failure = static () => new OutOfMemoryException("not enough of it");
        disk.FailingCall = policy == FlushPolicy.Always ? DiskCall.Write : DiskCall.Flush;
        disk.FailsAt = disk.CallsOf(disk.FailingCall) + 1;
        var lsn = journal.Append(0, Units.Command("SET", "a", "b"));
        journal.Appended();
        Assert.False(observer.WaitFor(lsn));
        Assert.Equal((JournalState.Failed, "not enough of it"), (journal.State, journal.Failure));
        Assert.False(journal.Flush());
    }

    [Fact]
    public void WhatCouldNotBeToldIsToldAgain()
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
