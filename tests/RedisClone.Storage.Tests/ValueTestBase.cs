using System.Globalization;
using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>A store with one key, texts of every kind, and the checks that every type must pass.</summary>
public abstract class ValueTestBase
{
    protected static readonly byte[] Key = "the key"u8.ToArray();
    protected static readonly ulong Hash = KeyHash.Of(Key);

    protected ValueTestBase(ITestOutputHelper output)
    {
        Random = Seed.Random(output);
        Store = new ShardStore(2, (ulong)Random.NextInt64());
        Keyspace = Store.Database(0);
    }

    protected Random Random { get; }

    protected ShardStore Store { get; }

    protected Keyspace Keyspace { get; }

    protected Entry Entry => Keyspace.Find(Key, Hash);

    protected static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    protected static string Text(Element element) =>
        Encoding.Latin1.GetString(element.Text(stackalloc byte[IntegerText.MaxLength]));

    protected static string Encoding_(in Entry entry) => Encoding.ASCII.GetString(ValueInfo.EncodingName(entry));

    /// <summary>Integers of every width, texts that look like integers, short and long texts.</summary>
    protected string RandomText(int kinds, int longest)
    {
        int number = Random.Next(kinds);
        return (number % 9) switch
        {
            0 => number.ToString(CultureInfo.InvariantCulture),
            1 => (-number * 40L).ToString(CultureInfo.InvariantCulture),
            2 => (number * 70_000L).ToString(CultureInfo.InvariantCulture),
            3 => (number % 2 == 0 ? long.MaxValue - number : long.MinValue + number).ToString(CultureInfo.InvariantCulture),
            4 => "0" + number,
            5 => number == 5 ? "" : "é" + number,
            6 => new string('x', Math.Min(longest, number * 7)) + number,
            _ => "member:" + number,
        };
    }

    /// <summary>Checks that every byte in use is accounted for as a part of the key or of an index.</summary>
    protected void CheckMemory()
    {
        long bytes = Keyspace.IndexBytes + Store.Database(1).IndexBytes + Store.ShapeBytes;
        foreach (Keyspace keyspace in (Keyspace[])[Keyspace, Store.Database(1)])
        {
            Entry entry = keyspace.Find(Key, Hash);
            if (entry.Exists) bytes += ValueInfo.MemoryUsage(entry);
        }
        if (Store.PendingFrees == 0) Assert.Equal(Store.Arena.BytesUsed, bytes);
    }

    /// <summary>
    /// Checks that copies in another database and another store are independent, and that nothing is left without the key.
    /// </summary>
    protected void CheckCopyAndRemoval(Action<Keyspace> check)
    {
        if (Entry.Exists)
        {
            var elsewhere = new ShardStore(1, 1) { Limits = Store.Limits, Now = Store.Now };
            ValueTransfer.Copy(Entry, elsewhere.Database(0).Absent(Hash), Key);
            check(elsewhere.Database(0));
            elsewhere.Abandon(0);
            while (!elsewhere.FreeAbandoned(100)) { }
            Assert.Equal(0, elsewhere.Arena.LiveBuffers);

            Keyspace other = Store.Database(1);
            ValueTransfer.Copy(Entry, other.Absent(Hash), Key);
            Assert.Equal(Encoding_(Entry), Encoding_(other.Find(Key, Hash)));
            CheckMemory();
            check(other);
            Keyspace.Remove(Entry);
            while (!Store.FreeAbandoned(7)) { }
            CheckMemory();
            check(other);
            ValueTransfer.Move(other.Find(Key, Hash), Keyspace.Absent(Hash), Key);
            Assert.False(other.Find(Key, Hash).Exists);
            check(Keyspace);
            CheckMemory();
            if (Random.Next(2) == 0) Keyspace.Remove(Entry);
            else Store.Abandon(0);
        }
        while (!Store.FreeAbandoned(5)) { }
        Assert.Equal(0, Store.Arena.BytesUsed);
        Assert.Equal(0, Store.Arena.LiveBuffers);
        Assert.Equal(0, Store.PendingFrees);
    }
}
