using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using RedisClone.Journal.Format;
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
    private const int FillMarkLength = 24;

    /// <summary>What Redis appends when it is started on our directory.</summary>
    private static readonly byte[] RedisTail =
    [
        .. "#TS:1700000000\r\n"u8, .. Units.Command("SELECT", "0"), .. Units.Command("SET", "#RC1 lsn=1", "#RC1 lsn=2 durable=3"),
        .. Units.Command("MULTI"), .. Units.Command("INCR", "a"), .. Units.Command("INCR", "b"), .. Units.Command("EXEC"), .. Units.Command("DEL", "a"),
    ];

    private enum Ending { Sealed, Killed, ContinuedByRedis, KilledAndContinuedByRedis }

    /// <param name="Ours">Where the last group of ours ends; padding may follow.</param>
    /// <param name="RedisAt">Where Redis began to append.</param>
    private sealed record Journal(Ending Ending, SimulatedDisk Disk, List<Unit> Units, List<Group> Groups, int Ours, int RedisAt);

    private sealed record Group(int Start, int HeaderEnd, int End, long Lsn, long Durable);

    [Fact]
    public void SealedJournal() => DamageEverywhere(Ending.Sealed);

    [Fact]
    public void KilledJournal() => DamageEverywhere(Ending.Killed);

    [Fact]
    public void JournalThatRedisContinued() => DamageEverywhere(Ending.ContinuedByRedis);

    [Fact]
    public void KilledJournalThatRedisContinued() => DamageEverywhere(Ending.KilledAndContinuedByRedis);

    /// <summary>Wherever a kill comes, what is in the file are whole commands and annotation lines, padding and fill marks included.</summary>
    [Fact]
    public void AtAnyMomentARedisCouldLoadTheFile()
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var random = new Random(TestSeed.Seed);
        var looks = 0;
        for (var run = 0; run < LongRun.Times(5, 500); run++) MakeJournal(random, Ending.Killed, LookAt);
        Assert.NotEqual(0, looks);

        void LookAt(byte[] file)
        {
            looks++;
            for (var at = 0; at < file.Length;)
            {
                var step = new UnitScanner().Next(file.AsSpan(at), 0);
                Assert.True(step.Scan == Scan.Complete, $"{step.Scan} at {at} of {file.Length}");
                at += step.Length;
            }
        }
    }

    private void DamageEverywhere(Ending ending)
    {
        output.WriteLine($"RC_SEED={TestSeed.Seed}");
        var random = new Random(TestSeed.Seed);
        var journal = MakeJournal(random, ending);
        var disk = journal.Disk;
        var path = JournalRun.Names.PathOf(FileName);
        var intact = disk[path];
        Assert.Equal(JournalOutcome.Clean, Read(disk, out var all).Outcome);
        Assert.Equal(journal.Units.Count + (journal.RedisAt < intact.Length ? 3 : 0), all.Units.Count);

        foreach (var length in Sample(intact.Length, random, 300))
        {
            disk[path] = intact[..length];
            Check(journal, length, survivorsFrom: int.MaxValue, $"truncated to {length}");
        }
        foreach (var length in Sample(intact.Length, random, 300))
        {
            var bytes = intact.ToArray();
            bytes.AsSpan(length).Clear();
            var first = FirstDifference(intact, bytes);
            disk[path] = bytes;
            Check(journal, first, survivorsFrom: int.MaxValue, $"zeros from {length} on");
        }
        var bits = Sample(intact.Length * 8, random, 1500);

        // Every bit of the last line of ours, where it is decided whose the rest is.
        var last = journal.Groups[^1];
        if (!LongRun.IsLong && journal.RedisAt < intact.Length)
            bits = bits.Concat(Enumerable.Range(last.Start * 8, (last.HeaderEnd - last.Start) * 8))
                .Concat(Enumerable.Range((journal.RedisAt - FillMarkLength) * 8, FillMarkLength * 8));
        foreach (var bit in bits)
        {
            var bytes = intact.ToArray();
            bytes[bit / 8] ^= (byte)(1 << (bit % 8));
            disk[path] = bytes;
            Check(journal, bit / 8, survivorsFrom: bit / 8 + 1, $"bit {bit} flipped");
        }
    }

    /// <summary>
    /// The first damaged byte is at <paramref name="damage"/>; headers that begin at or behind <paramref
    /// name="survivorsFrom"/> are whole.
    /// </summary>
    private static void Check(Journal journal, int damage, int survivorsFrom, string what)
    {
        var (ending, disk, units, groups, ours, redisAt) = journal;
        var report = Read(disk, out var found);
        var known = found.Units.Take(found.Verified).ToList();
        for (var i = 0; i < known.Count; i++)
            Assert.True(units[i].Lsn == known[i].Lsn && units[i].Bytes.AsSpan().SequenceEqual(known[i].Bytes), $"{what}: wrong unit {i}");

        // Redis's going on says as much as a mark does, but for the line that says where padding ended.
        var isContinued = ending is Ending.ContinuedByRedis or Ending.KilledAndContinuedByRedis;
        var redisShows = isContinued && survivorsFrom <= (redisAt > ours ? redisAt - FillMarkLength : redisAt);
        if (damage >= ours)
        {
            // What Redis wrote, and padding, have no checksums: but all that is ours is there.
            Assert.True(found.Verified == units.Count, $"{what}: {report}");
            if (redisShows) Assert.True(report.Outcome == JournalOutcome.Refused && report.Offset >= ours && report.Offset <= damage, $"{what}: {report}");
            return;
        }
        var hit = groups.FirstOrDefault(g => damage < g.End);
        var start = damage < HeaderLength ? 0 : hit!.Start;
        var good = damage < HeaderLength ? 0 : hit!.Lsn;
        var highest = groups.Where(g => g.Start >= survivorsFrom).Select(g => g.Durable).DefaultIfEmpty(-1).Max();
        Assert.True(known.Count == units.Count(u => u.Lsn <= good), $"{what}: {known.Count} units, {report}");
        if (highest > good || redisShows)
        {
            Assert.True(report.Outcome == JournalOutcome.Refused && report.Offset == start, $"{what}: refusal at {start} expected, {report}");
            return;
        }

        // Cut exactly between two groups (or to nothing), there is nothing to see.
        var isInvisible = damage == 0 || damage == start;
        Assert.True(report.Outcome == JournalOutcome.Cut || (isInvisible && report.Outcome == JournalOutcome.Clean), $"{what}: {report}");
        if (report.Outcome == JournalOutcome.Cut) Assert.True(report.Offset == start, $"{what}: cut at {start} expected, {report}");
    }

    private static Journal MakeJournal(Random random, Ending ending, Action<byte[]>? look = null)
    {
        var disk = new SimulatedDisk { Random = random };
        var tuning = new WriterTuning { SegmentSize = 1024, FirstFill = 2048, LargestFill = 8192, LargestGroupToFill = 2048, Salts = random };
        var buffer = new MergeBuffer(tuning);
        var writer = new JournalWriter(buffer, tuning);
        var units = new List<Unit>();
        var path = JournalRun.Names.PathOf(FileName);
        writer.Start(JournalDirectory.TryOpen(disk, JournalRun.Names, out _)!, new() { Outcome = JournalOutcome.Absent });
        while (writer.IncrementSize < Size)
        {
            for (var i = random.Next(6); i >= 0; i--)
            {
                var bytes = Units.Make(random, units.Count);
                var database = random.Next(3) == 0 ? 1 : 0;
                units.Add(new(buffer.Append(database, bytes), database, bytes));
            }
            writer.WriteNext(fillAhead: random.Next(8) > 0);
            look?.Invoke(disk[path]);
            if (random.Next(3) > 0) writer.Flush();
            if (random.Next(9) == 0) writer.WriteMark();
            look?.Invoke(disk[path]);
        }
        var ours = (int)writer.IncrementSize;
        if (ending is Ending.Sealed or Ending.ContinuedByRedis)
        {
            writer.Stop();
            ours = disk[path].Length;
        }
        var redisAt = disk[path].Length;
        var groups = FindGroups(disk[path].AsSpan(0, ours));
        if (ending is Ending.ContinuedByRedis or Ending.KilledAndContinuedByRedis) disk[path] = [.. disk[path], .. RedisTail];
        return new(ending, disk.Clone(), units, groups, ours, redisAt);
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
        if (LongRun.IsLong) return Enumerable.Range(0, count);

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
