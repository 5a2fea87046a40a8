using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.Strings;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>Allocation failures outside values: captures, reader tables, whole databases, and indexes that cannot grow.</summary>
public sealed class FailingStoreTests
{
    private readonly ShardStore _store = new(2, 1);
    private readonly Random _random;

    public FailingStoreTests(ITestOutputHelper output)
    {
        _random = Seed.Random(output);
        FaultPoint.Disarm();
    }

    private Keyspace Keyspace => _store.Database(0);

    /// <summary>A capture that completes has taken every record once, in its old state, in spite of any failures.</summary>
    [Fact]
    public void CaptureMissesNoRecord()
    {
        for (int round = 0; round < 20; round++)
        {
            Fill(400);
            var sink = new Sink(_store, _random);
            Capture capture = Begin(sink);
            while (!capture.IsOver)
            {
                FaultPoint.Arm(1 + _random.Next(400));
                try
                {
                    capture.Step(_random.Next(1, 50));
                    if (_random.Next(3) == 0) Remove(_random.Next(800));
                    if (_random.Next(3) == 0) Fill(1);
                }
                catch (OutOfMemoryException)
                {
                }
                FaultPoint.Disarm();
            }
            Assert.Equal(sink.Expected.Order(StringComparer.Ordinal), sink.Taken.Order(StringComparer.Ordinal));
            StoreCheck.Run(_store);
        }
    }

    [Fact]
    public void ReaderTableStaysConsistent()
    {
        var readers = new ReaderTable(_store);
        var model = new Dictionary<int, HashSet<long>>();
        var found = new List<long>();
        for (int step = 0; step < 3_000; step++)
        {
            int number = _random.Next(40);
            byte[] key = Name(number);
            bool adds = _random.Next(20) > 0, clears = _random.Next(800) == 0;
            long reader = _random.NextInt64(300);
            found.Clear();
            for (int n = 1; Fails(n); n++) Check();
            if (clears) model.Clear();
            else if (adds && model.TryGetValue(number, out HashSet<long>? known)) known.Add(reader);
            else if (adds) model[number] = [reader];
            else model.Remove(number);
            if (step % 100 == 0) Check();

            bool Fails(int n)
            {
                FaultPoint.Arm(n);
                try
                {
                    if (clears) readers.Clear();
                    else if (adds) readers.Add(key, KeyHash.Of(key), reader);
                    else readers.Take(key, KeyHash.Of(key), found);
                    return false;
                }
                catch (OutOfMemoryException)
                {
                    return true;
                }
                finally
                {
                    FaultPoint.Disarm();
                }
            }
        }
        Check();
        readers.Clear();
        Check(empty: true);

        void Check(bool empty = false)
        {
            if (empty) model.Clear();
            StoreCheck.Run(_store, readers.Content);
            Assert.Equal(model.Count, readers.Keys);
            Assert.Equal(model.Values.Sum(set => set.Count), readers.Items);
        }
    }

    /// <summary>
    /// Without memory for buckets an index has longer chains. When memory is available again, it becomes normal.
    /// </summary>
    [Fact]
    public void IndexThatCannotGrowFindsAllRecords()
    {
        var arena = new Arena();
        IndexRoot root = default;
        var index = new HashIndex(arena, ref root);
        var hashes = new List<ulong>();
        for (int i = 0; i < 20_000; i++)
        {
            ulong hash = (ulong)_random.NextInt64();
            FaultPoint.Arm(1 + _random.Next(3), stays: i % 4_000 > 500);
            bool added = !System.Runtime.CompilerServices.Unsafe.IsNullRef(ref index.TryAdd(hash, (uint)i + 1));
            FaultPoint.Disarm();
            if (!added) index.Add(hash, (uint)i + 1);
            hashes.Add(hash);
            if (i % 1_000 == 0) Check(index, arena);
        }
        for (int i = 0; i < hashes.Count; i++)
        {
            FaultPoint.Arm(1, stays: i < 10_000);
            index.Remove(hashes[i], ref index.FindHandle(hashes[i], (uint)i + 1));
            FaultPoint.Disarm();
            if (i % 1_000 == 0) Check(index, arena);
        }
        Assert.Equal(0, arena.LiveBuffers);

        static void Check(HashIndex index, Arena arena)
        {
            List<uint> buffers = [];
            List<(uint Tag, uint Handle)> records = [];
            index.Check(buffers, records);
            arena.Check();
            Assert.Equal(arena.LiveBuffers, buffers.Count);
            Assert.Equal(index.Bytes, arena.BytesUsed);
            Assert.Equal(records.Count, records.DistinctBy(record => record.Handle).Count());
        }
    }

    /// <summary>Emptying a database and freeing all its content needs no memory.</summary>
    [Fact]
    public void DatabaseIsFreedWithoutMemory()
    {
        for (int round = 0; round < 10; round++)
        {
            Fill(300);
            FaultPoint.Arm(1, stays: true);
            _store.Abandon(0, _random.Next(2) * 20);
            while (!_store.FreeAbandoned(50)) { }
            FaultPoint.Disarm();
            Assert.Equal(0, _store.Arena.LiveBuffers);
        }
        _store.Arena.Check();
    }

    /// <summary>The next command does not see the values that a failed command left in the scratch keyspace.</summary>
    [Fact]
    public void ScratchIsClearedWithoutMemory()
    {
        byte[] key = Name(1);
        Entry built = SetValue.Create(_store.Scratch, key, KeyHash.Of(key));
        for (int i = 0; i < 3_000; i++) SetValue.Add(built, Name(i));
        FaultPoint.Arm(1, stays: true);
        _store.ClearScratch();
        while (!_store.FreeAbandoned(50)) { }
        FaultPoint.Disarm();
        Assert.False(_store.Scratch.Locate(key).Exists);
        Assert.Equal(0, _store.Arena.LiveBuffers);
    }

    private Capture Begin(Sink sink)
    {
        for (int n = 1; ; n++)
        {
            FaultPoint.Arm(n);
            try
            {
                return _store.BeginCapture(sink);
            }
            catch (OutOfMemoryException)
            {
            }
            finally
            {
                FaultPoint.Disarm();
            }
        }
    }

    private static byte[] Name(int number) => Encoding.ASCII.GetBytes($"key {number}");

    private void Remove(int number)
    {
        Entry entry = Keyspace.Locate(Name(number));
        if (entry.Exists) Keyspace.Remove(entry);
    }

    private void Fill(int keys)
    {
        for (int i = 0; i < keys; i++)
        {
            byte[] key = Name(_random.Next(800));
            Entry entry = Keyspace.Locate(key);
            if (_random.Next(30) > 0)
            {
                StringValue.Set(Keyspace, ref entry, key, _random.Bytes(_random.Next(300)), _random.Next(2) * 1_000);
                continue;
            }
            if (entry.Exists) Keyspace.Remove(entry);
            entry = SetValue.Create(Keyspace, key, KeyHash.Of(key));
            int members = _random.Next(100) == 0 ? 40_000 : 700;
            for (int j = 0; j < members; j++) SetValue.Add(entry, Name(j));
        }
    }

    /// <summary>Records the content of the store at its creation and the records it takes, large ones in two parts.</summary>
    private sealed class Sink : ICaptureSink
    {
        private readonly Random _random;

        public Sink(ShardStore store, Random random)
        {
            _random = random;
            HashIndexWalk walk = store.Database(0).KeysOf(0).All();
            while (walk.MoveNext()) Expected.Add(Text(store.Database(0).Locate(store.Database(0).KeyOf(walk.Current).ToArray())));
        }

        public List<string> Expected { get; } = [];

        public List<string> Taken { get; } = [];

        public void Take(int database, in Entry entry)
        {
            FaultPoint.Allocation();
            Taken.Add(Text(entry));
        }

        public bool TakePart(int database, in Entry entry, ref CapturePlace place)
        {
            FaultPoint.Allocation();
            place.Cursor++;
            FaultPoint.Allocation();
            if (place.Cursor < 3 && _random.Next(2) == 0) return false;
            Taken.Add(Text(entry));
            return true;
        }

        private static string Text(in Entry entry) => StoreText.Of(entry);
    }
}
