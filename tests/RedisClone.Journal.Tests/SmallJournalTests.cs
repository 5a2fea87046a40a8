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
/// Reads a journal of 64 KiB with every truncation, every flipped bit and every tail of zeros (a sample of them in
/// usual runs). Damage before a surviving durable mark, or of the beginning that was durable before the manifest named the file,
/// must lead to a refusal with the offset. Other damage must lead to a valid prefix and a report of the cut. The expected
/// result is derived from the intact file and not from the tested code.
/// </summary>
public sealed partial class SmallJournalTests(ITestOutputHelper output)
{
    private const int Size = 64 * 1024;
    private const string FileName = "appendonly.aof.1.incr.aof";
    private const int HeaderLength = 112;
    private const int FillMarkLength = 24;

    /// <summary>The commands that Redis appends when it starts on a directory of this server.</summary>
    private static readonly byte[] RedisTail =
    [
        .. "#TS:1700000000\r\n"u8, .. Units.Command("SELECT", "0"), .. Units.Command("SET", "#RC1 lsn=1", "#RC1 lsn=2 durable=3"),
        .. Units.Command("MULTI"), .. Units.Command("INCR", "a"), .. Units.Command("INCR", "b"), .. Units.Command("EXEC"),
        .. Units.Command("DEL", "a"),
    ];

    private enum Ending { Sealed, Killed, ContinuedByRedis, KilledAndContinuedByRedis }

    /// <param name="Ours">The end of the last group of this server. Padding may follow.</param>
    /// <param name="RedisAt">The offset at which Redis began to append.</param>
    private sealed record Journal(Ending Ending, SimulatedDisk Disk, List<Unit> Units, List<Group> Groups, int Ours, int RedisAt);

    private sealed record Group(int Start, int HeaderEnd, int End, long Lsn, long Durable);

    [Fact]
    public void DamageOfASealedJournalIsDetected() => DamageEverywhere(Ending.Sealed);

    [Fact]
    public void DamageOfAKilledJournalIsDetected() => DamageEverywhere(Ending.Killed);

    [Fact]
    public void DamageOfAJournalThatRedisContinuedIsDetected() => DamageEverywhere(Ending.ContinuedByRedis);

    [Fact]
    public void DamageOfAKilledJournalThatRedisContinuedIsDetected() => DamageEverywhere(Ending.KilledAndContinuedByRedis);

    /// <summary>
    /// After a kill at any point, the file consists of whole commands and annotation lines. Padding and fill marks are
    /// annotations.
    /// </summary>
    [Fact]
    public void RedisCanLoadTheFileAtAnyMoment()
    {
        var random = Seed.Random(output);
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
        var random = Seed.Random(output);
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

        // Every bit of the last line of this server, which decides whether the rest belongs to Redis.
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
        if (journal.RedisAt < intact.Length) return;
        foreach (var from in Sample(intact.Length - 1, random, 300))
        {
            var count = random.Next(4) == 0 ? random.Next(1, 20_000) : 1;
            var to = Math.Min(intact.Length, from + count);
            disk[path] = [.. intact[..from], .. intact[to..]];
            Check(journal, FirstDifference(intact, disk[path]), survivorsFrom: to, $"{to - from} bytes removed at {from}", isMoved: true);
            var added = new byte[count];
            random.NextBytes(added);
            disk[path] = [.. intact[..from], .. added, .. intact[from..]];
            Check(journal, FirstDifference(intact, disk[path]), survivorsFrom: from, $"{count} bytes added at {from}", isMoved: true);
        }
    }

    /// <summary>
    /// <paramref name="damage"/> is the offset of the first damaged byte. Headers at or after
    /// <paramref name="survivorsFrom"/> are intact. If bytes have moved, padding may stand at the damage, so that it is found behind.
    /// </summary>
    private static void Check(Journal journal, int damage, int survivorsFrom, string what, bool isMoved = false)
    {
        var (ending, disk, units, groups, ours, redisAt) = journal;
        var report = Read(disk, out var found);
        var known = found.Units.Take(found.Verified).ToList();
        for (var i = 0; i < known.Count; i++)
            Assert.True(
                units[i].Lsn == known[i].Lsn && units[i].Bytes.AsSpan().SequenceEqual(known[i].Bytes), $"{what}: wrong unit {i}");

        // Output of Redis after a group proves as much as a mark, except after the line that ends the padding.
        var isContinued = ending is Ending.ContinuedByRedis or Ending.KilledAndContinuedByRedis;
        var redisShows = isContinued && survivorsFrom <= (redisAt > ours ? redisAt - FillMarkLength : redisAt);
        if (damage >= ours)
        {
            // Output of Redis and padding have no checksums, but all groups of this server are present.
            Assert.True(found.Verified == units.Count, $"{what}: {report}");
            if (redisShows)
                Assert.True(
                    report.Outcome == JournalOutcome.Refused && report.Offset >= ours && report.Offset <= damage,
                    $"{what}: {report}");
            return;
        }
        var hit = groups.FirstOrDefault(g => damage < g.End);
        var start = damage < HeaderLength ? 0 : hit!.Start;
        var good = damage < HeaderLength ? 0 : hit!.Lsn;
        var highest = groups.Where(g => g.Start >= survivorsFrom).Select(g => g.Durable).DefaultIfEmpty(-1).Max();
        Assert.True(known.Count == units.Count(u => u.Lsn <= good), $"{what}: {known.Count} units, {report}");
        var isBeginning = damage < groups[0].End;
        if (highest > good || redisShows || isBeginning)
        {
            Assert.True(
                report.Outcome == JournalOutcome.Refused && (report.Offset == start || isMoved && report.Offset > start),
                $"{what}: refusal at {start} expected, {report}");
            return;
        }

        // A cut exactly between two groups cannot be detected.
        var isInvisible = damage == start;
        Assert.True(
            report.Outcome == JournalOutcome.Cut || (isInvisible && report.Outcome == JournalOutcome.Clean), $"{what}: {report}");
        if (report.Outcome == JournalOutcome.Cut)
            Assert.True(report.Offset == start || isMoved && report.Offset > start, $"{what}: cut at {start} expected, {report}");
    }

    private static Journal MakeJournal(Random random, Ending ending, Action<byte[]>? look = null)
    {
        var disk = new SimulatedDisk { Random = random };
        var tuning = new WriterTuning
        {
            SegmentSize = 1024,
            FirstFill = 2048,
            LargestFill = 8192,
            LargestGroupToFill = 2048,
            Salts = random,
        };
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

    /// <summary>Finds the groups by position: each header states the length of its group.</summary>
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

        // The header, the end, and a sample of the offsets between them.
        return Enumerable.Range(0, 150)
            .Concat(Enumerable.Range(count - 150, 150))
            .Concat(Enumerable.Range(0, size).Select(_ => random.Next(count)));
    }

    private static int FirstDifference(byte[] a, byte[] b)
    {
        var same = a.AsSpan().CommonPrefixLength(b);
        return same;
    }

    [GeneratedRegex(@"^#RC1 lsn=(\d+) durable=(\d+) len=(\d+) crc=[0-9a-f]{8} {1,2}chk=[0-9a-f]{8}\r\n$")]
    private static partial Regex Line();
}
