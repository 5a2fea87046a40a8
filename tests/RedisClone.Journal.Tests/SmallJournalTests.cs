using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using RedisClone.Journal.Reading;
using RedisClone.Journal.Tests.Support;
using RedisClone.Journal.Writing;
using Xunit.Abstractions;

namespace RedisClone.Journal.Tests;

/// <summary>
/// A journal of 64 KiB with every truncation, every flipped bit and every tail of zeros; a sample in usual runs. Below a
/// surviving durable mark a refusal that names the offset, elsewhere a clean prefix with the cut reported. What is expected
/// is worked out from the intact file, not by the code under test.
/// </summary>
public sealed partial class SmallJournalTests(ITestOutputHelper output)
{
    private const int Size = 64 * 1024;
    private const string FileName = "appendonly.aof.1.incr.aof";
    private const int HeaderLength = 112;

    /// <summary>What Redis appends when it is started on our directory.</summary>
    private static readonly byte[] RedisTail =
    [
        .. "#TS:1700000000\r\n"u8, .. Units.Command("SELECT", "0"), .. Units.Command("SET", "#RC1 lsn=1", "#RC1 lsn=2 durable=3"),
        .. Units.Command("MULTI"), .. Units.Command("INCR", "a"), .. Units.Command("INCR", "b"), .. Units.Command("EXEC"), .. Units.Command("DEL", "a"),
    ];

    private enum Ending { Sealed, Killed, ContinuedByRedis }

    private sealed record Group(int Start, int HeaderEnd, int End, long Lsn, long Durable);

    [Fact]
    public void SealedJournal() => DamageEverywhere(Ending.Sealed);

    [Fact]
    public void KilledJournal() => DamageEverywhere(Ending.Killed);

    [Fact]
    public void JournalThatRedisContinued() => DamageEverywhere(Ending.ContinuedByRedis);

    private void DamageEverywhere(Ending ending)
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var random = new Random(TestSeed.Seed);
        var (disk, units, ours) = MakeJournal(random, ending);
        var path = JournalRun.Names.PathOf(FileName);
        var intact = disk[path];
        var groups = FindGroups(intact.AsSpan(0, ours));
        Assert.Equal(JournalOutcome.Clean, Read(disk, out var all).Outcome);
        Assert.Equal(units.Count + (ending == Ending.ContinuedByRedis ? 3 : 0), all.Units.Count);

        foreach (var length in Sample(intact.Length, random, 300))
        {
            disk[path] = intact[..length];
            Check(ending, disk, units, groups, ours, length, survivorsFrom: int.MaxValue, $"truncated to {length}");
        }
        foreach (var length in Sample(intact.Length, random, 300))
        {
            var bytes = intact.ToArray();
            bytes.AsSpan(length).Clear();
            var first = FirstDifference(intact, bytes);
            disk[path] = bytes;
            Check(ending, disk, units, groups, ours, first, survivorsFrom: int.MaxValue, $"zeros from {length} on");
        }
        var bits = Sample(intact.Length * 8, random, 1500);

        // Every bit of the last line of ours, where it is decided whose the rest is.
        if (ending == Ending.ContinuedByRedis) bits = bits.Concat(Enumerable.Range(groups[^1].Start * 8, (ours - groups[^1].Start) * 8));
        foreach (var bit in bits)
        {
            var bytes = intact.ToArray();
            bytes[bit / 8] ^= (byte)(1 << (bit % 8));
            disk[path] = bytes;
            Check(ending, disk, units, groups, ours, bit / 8, survivorsFrom: bit / 8 + 1, $"bit {bit} flipped");
        }
    }

    /// <summary>
    /// The first damaged byte is at <paramref name="damage"/>; headers that begin at or behind <paramref
    /// name="survivorsFrom"/> are whole.
    /// </summary>
    private static void Check(Ending ending, SimulatedDisk disk, List<Unit> units, List<Group> groups, int ours, int damage, int survivorsFrom, string what)
    {
        var report = Read(disk, out var found);
        var known = found.Units.Take(found.Verified).ToList();
        for (var i = 0; i < known.Count; i++)
            Assert.True(units[i].Lsn == known[i].Lsn && units[i].Bytes.AsSpan().SequenceEqual(known[i].Bytes), $"{what}: wrong unit {i}");

        if (damage >= ours)
        {
            // What Redis wrote has no checksums: but all that is ours is there.
            Assert.True(found.Verified == units.Count, $"{what}: {report}");
            return;
        }
        var hit = groups.FirstOrDefault(g => damage < g.End);
        var start = damage < HeaderLength ? 0 : hit!.Start;
        var good = damage < HeaderLength ? 0 : hit!.Lsn;
        var highest = groups.Where(g => g.Start >= survivorsFrom).Select(g => g.Durable).DefaultIfEmpty(-1).Max();
        Assert.True(known.Count == units.Count(u => u.Lsn <= good), $"{what}: {known.Count} units, {report}");

        // Redis's going on says as much as a mark does.
        var redisWentOn = survivorsFrom <= ours && survivorsFrom > groups[^1].Start && ending == Ending.ContinuedByRedis;
        if (highest > good || redisWentOn)
        {
            Assert.True(report.Outcome == JournalOutcome.Refused && report.Offset == start, $"{what}: refusal at {start} expected, {report}");
            return;
        }

        // Cut exactly between two groups (or to nothing), there is nothing to see.
        var isInvisible = damage == 0 || damage == start;
        Assert.True(report.Outcome == JournalOutcome.Cut || (isInvisible && report.Outcome == JournalOutcome.Clean), $"{what}: {report}");
        if (report.Outcome == JournalOutcome.Cut) Assert.True(report.Offset == start, $"{what}: cut at {start} expected, {report}");
    }

    private static (SimulatedDisk Disk, List<Unit> Units, int Ours) MakeJournal(Random random, Ending ending)
    {
        var disk = new SimulatedDisk { Random = random };
        var tuning = new WriterTuning { SegmentSize = 1024, FirstFill = 2048, LargestFill = 8192, LargestGroupToFill = 2048, Salts = random };
        var buffer = new MergeBuffer(tuning);
        var writer = new JournalWriter(buffer, tuning);
        var units = new List<Unit>();
        writer.Start(JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!, new() { Outcome = JournalOutcome.Absent });
        while (writer.IncrementSize < Size)
        {
            for (var i = random.Next(6); i >= 0; i--)
            {
                var bytes = Units.Make(random, units.Count);
                var database = random.Next(3) == 0 ? 1 : 0;
                units.Add(new(buffer.Append(database, bytes), database, bytes));
            }
            writer.WriteNext(fillAhead: true);
            if (random.Next(3) > 0) writer.Flush();
            if (random.Next(9) == 0) writer.WriteMark();
        }
        if (ending != Ending.Killed) writer.Stop();
        var ours = ending == Ending.Killed ? (int)writer.IncrementSize : disk[JournalRun.Names.PathOf(FileName)].Length;
        if (ending == Ending.ContinuedByRedis)
            disk[JournalRun.Names.PathOf(FileName)] = [.. disk[JournalRun.Names.PathOf(FileName)], .. RedisTail];
        return (disk.Clone(), units, ours);
    }

    /// <summary>By position: each line says where the next begins.</summary>
    private static List<Group> FindGroups(ReadOnlySpan<byte> file)
    {
        var groups = new List<Group>();
        var at = HeaderLength;
        while (at < file.Length)
        {
            var lineEnd = at + file[at..].IndexOf((byte)'\n') + 1;
            var match = Line().Match(Encoding.ASCII.GetString(file[at..lineEnd]));
            Assert.True(match.Success);
            Assert.True(lineEnd - at <= 126);
            var end = lineEnd + (int)Number(match, 3);
            groups.Add(new(at, lineEnd, end, Number(match, 1), Number(match, 2)));
            at = end;
        }
        return groups;
    }

    private static long Number(Match match, int group) => long.Parse(match.Groups[group].ValueSpan, CultureInfo.InvariantCulture);

    private static JournalReport Read(SimulatedDisk disk, out Collector collector)
    {
        collector = new();
        return JournalRun.Read(disk, collector);
    }

    private static IEnumerable<int> Sample(int count, Random random, int size)
    {
        if (TestSeed.IsLong) return Enumerable.Range(0, count);

        // The header, the end, and a sample of what is between.
        return Enumerable.Range(0, 150).Concat(Enumerable.Range(count - 150, 150)).Concat(Enumerable.Range(0, size).Select(_ => random.Next(count)));
    }

    private static int FirstDifference(byte[] a, byte[] b)
    {
        var same = a.AsSpan().CommonPrefixLength(b);
        return same;
    }

    [GeneratedRegex(@"^#RC1 lsn=(\d+) durable=(\d+) len=(\d+) crc=[0-9a-f]{8} {1,2}chk=[0-9a-f]{8}\r\n$")]
    private static partial Regex Line();
}
