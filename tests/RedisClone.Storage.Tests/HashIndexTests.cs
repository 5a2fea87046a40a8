using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using RedisClone.Storage.Memory;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class HashIndexTests(ITestOutputHelper output)
{
    /// <summary>An index of numbers. A number is its own record: its handle and hash are derived from it.</summary>
    private sealed class Numbers(Func<int, ulong> hash)
    {
        private readonly Arena _arena = new();
        private IndexRoot _root;

        public Arena Arena => _arena;

        public HashIndex Index => new(_arena, ref _root);

        public ulong Hash(int number) => hash(number);

        public void Add(int number) => Assert.Equal((uint)number, Index.Add(Hash(number), (uint)number));

        public bool Contains(int number) => !Unsafe.IsNullRef(ref Find(number));

        public ref uint Find(int number) => ref Index.Find(Hash(number), Key(ref number), default(Keys));

        public void Remove(int number) => Index.Remove(Hash(number), ref Find(number));

        private static ReadOnlySpan<byte> Key(ref int number) =>
            MemoryMarshal.AsBytes(MemoryMarshal.CreateReadOnlySpan(ref number, 1));

        private readonly struct Keys : IRecordKeys
        {
            public bool Matches(uint handle, ReadOnlySpan<byte> key) => MemoryMarshal.Read<uint>(key) == handle;
        }
    }

    private struct Collector(List<uint> found) : IScanVisitor
    {
        public readonly void Visit(uint handle) => found.Add(handle);
    }

    private static ulong Spread(int number) => (ulong)number * 0x9E3779B97F4A7C15 >> 13;

    public static TheoryData<string> Hashes => new("spread", "crowded");

    private static Numbers Make(string hashes) =>
        new(hashes == "spread" ? Spread : number => Spread(number) & 0xFFFFFFFFFFFFFFE0 | (ulong)number % 3);

    [Theory]
    [MemberData(nameof(Hashes))]
    public void MatchesDictionaryModel(string hashes)
    {
        Random random = Seed.Random(output);
        Numbers numbers = Make(hashes);
        var model = new List<int>();
        var places = new Dictionary<int, int>();
        const int Steps = 60_000;
        for (int step = 0; step < Steps; step++)
        {
            int number = random.Next(1, 1 << 16);
            Assert.Equal(places.ContainsKey(number), numbers.Contains(number));
            bool growing = step < Steps / 2;
            if (!places.ContainsKey(number) && (growing || random.Next(4) == 0))
            {
                numbers.Add(number);
                places[number] = model.Count;
                model.Add(number);
            }
            else if (model.Count > 0 && (!growing || random.Next(3) == 0))
            {
                int at = random.Next(model.Count);
                int removed = model[at];
                numbers.Remove(removed);
                Assert.False(numbers.Contains(removed));
                places.Remove(removed);
                model[at] = model[^1];
                if (at < model.Count - 1) places[model[at]] = at;
                model.RemoveAt(model.Count - 1);
            }
            Assert.Equal(model.Count, numbers.Index.Count);
            if (step % 1000 != 0) continue;
            Assert.Equal(numbers.Arena.BytesUsed, numbers.Index.Bytes);
            Assert.Equal(model.Order(), Walk(numbers).Order());
            Assert.All(model, number => Assert.Equal((uint)number, numbers.Index.FindHandle(numbers.Hash(number), (uint)number)));
        }
        foreach (int number in model) numbers.Remove(number);
        Assert.Equal(0, numbers.Arena.LiveBuffers);
    }

    /// <summary>
    /// A scan visits every record that is present from its first call to its last, while other records are added and removed.
    /// </summary>
    [Fact]
    public void ScanVisitsPermanentEntries()
    {
        Random random = Seed.Random(output);
        for (int round = 0; round < 60; round++)
        {
            var numbers = new Numbers(Spread);
            var staying = new HashSet<int>();
            var passing = new Stack<int>();
            int next = 1;
            for (int i = random.Next(1, 200); i > 0; i--)
            {
                numbers.Add(next);
                staying.Add(next++);
            }
            for (int i = random.Next(4000); i > 0; i--)
            {
                numbers.Add(next);
                passing.Push(next++);
            }
            var found = new List<uint>();
            var collector = new Collector(found);
            ulong cursor = 0;
            int calls = 0;
            do
            {
                cursor = numbers.Index.Scan(cursor, ref collector);
                bool grow = random.Next(3) == 0;
                for (int i = random.Next(100); i > 0; i--)
                {
                    if (grow)
                    {
                        numbers.Add(next);
                        passing.Push(next++);
                    }
                    else if (passing.TryPop(out int gone))
                    {
                        numbers.Remove(gone);
                    }
                }
                Assert.True(++calls < 100_000, "the scan does not end");
            }
            while (cursor != 0);
            Assert.Empty(staying.Except(found.Select(handle => (int)handle)));
        }
    }

    [Fact]
    public void AScanWithoutChangesVisitsEachRecordOnce()
    {
        var numbers = new Numbers(Spread);
        for (int i = 1; i <= 5_000; i++) numbers.Add(i);
        var found = new List<uint>();
        var collector = new Collector(found);
        ulong cursor = 0;
        do cursor = numbers.Index.Scan(cursor, ref collector);
        while (cursor != 0);
        Assert.Equal(Enumerable.Range(1, 5_000), found.Select(handle => (int)handle).Order());
    }

    [Fact]
    public void TheIndexIsDrainedInSlices()
    {
        var numbers = new Numbers(Spread);
        for (int i = 1; i <= 20_000; i++) numbers.Add(i);
        var found = new List<uint>();
        var collector = new Collector(found);
        uint cursor = 0;
        int slices = 1;
        while (!numbers.Index.Drain(ref cursor, 100, ref collector)) slices++;
        Assert.InRange(slices, 20, 100);
        Assert.Equal(20_000, found.Distinct().Count());
        Assert.Equal(0, numbers.Arena.LiveBuffers);
    }

    [Fact]
    public void RandomRecordsAreEquallyLikely()
    {
        Random random = Seed.Random(output);
        const int Members = 300, Draws = 300_000;
        var numbers = new Numbers(Spread);
        for (int i = 1; i <= Members; i++) numbers.Add(i);
        var drawn = new int[Members + 1];
        for (int i = 0; i < Draws; i++) drawn[numbers.Index.RandomHandle(random)]++;
        // Chi-squared with 299 degrees of freedom: mean 299, deviation 24.5. Eight deviations are practically impossible.
        double expected = (double)Draws / Members;
        Assert.InRange(drawn.Skip(1).Sum(n => (n - expected) * (n - expected) / expected), 0, 500);
    }

    /// <summary>Every record is a part of as many samples as any other, whether its bucket has many records or few.</summary>
    [Fact]
    public void SampledRecordsAreEquallyLikely()
    {
        Random random = Seed.Random(output);
        const int Members = 300, Samples = 100_000, Wanted = 5;
        var numbers = new Numbers(Spread);
        for (int i = 1; i <= Members; i++) numbers.Add(i);
        var drawn = new int[Members + 1];
        Span<uint> found = new uint[64];
        for (int i = 0; i < Samples; i++)
        {
            ulong place = (ulong)random.NextInt64() << 1;
            numbers.Index.PrefetchSample(place, Wanted);
            int n = numbers.Index.Sample(place, Wanted, found);
            Assert.InRange(n, Wanted, Wanted + 2 * HashIndex.SlotsPerBucket);
            foreach (uint handle in found[..n]) drawn[handle]++;
        }
        // A record is in the samples that begin at its bucket or up to a few buckets before it.
        double mean = drawn.Skip(1).Average();
        Assert.All(drawn.Skip(1), times => Assert.InRange(times, mean * 0.4, mean * 2.5));
    }

    [Fact]
    public void ASampleOfFewRecordsIsAllOfThem()
    {
        var numbers = new Numbers(Spread);
        Span<uint> found = new uint[64];
        Assert.Equal(0, numbers.Index.Sample(ulong.MaxValue, 5, found));
        for (int i = 1; i <= 4; i++) numbers.Add(i);
        foreach (ulong place in new[] { 0UL, ulong.MaxValue / 2, ulong.MaxValue })
            Assert.Equal([1u, 2u, 3u, 4u], found[..numbers.Index.Sample(place, 5, found)].ToArray().Order());
    }

    /// <summary>Keys of common forms are distributed evenly over shards (upper bits) and buckets (lower bits).</summary>
    [Theory]
    [InlineData("key:{0}")]
    [InlineData("{0}")]
    [InlineData("user:{0:D12}:session:cache")]
    public void KeyHashSpreadsTypicalKeys(string form)
    {
        const int Keys = 100_000, Cells = 1024;
        int[] low = new int[Cells], high = new int[Cells];
        for (int i = 0; i < Keys; i++)
        {
            ulong hash = KeyHash.Of(Encoding.ASCII.GetBytes(string.Format(null, form, i)));
            low[hash % Cells]++;
            high[hash >> 54]++;
        }
        foreach (int[] cells in (int[][])[low, high])
        {
            double expected = (double)Keys / Cells;
            Assert.InRange(cells.Sum(n => (n - expected) * (n - expected) / expected), 500, 1600);
        }
    }

    private static List<int> Walk(Numbers numbers)
    {
        var found = new List<int>();
        HashIndexWalk walk = numbers.Index.All();
        while (walk.MoveNext()) found.Add((int)walk.Current);
        return found;
    }
}
