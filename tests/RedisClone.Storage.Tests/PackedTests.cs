using System.Globalization;
using System.Text;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class PackedTests(ITestOutputHelper output)
{
    /// <summary>Every kind of head, and lengths on both sides of each of their limits.</summary>
    private static List<byte[]> Texts(Random random)
    {
        var texts = new List<byte[]>();
        int[] lengths = [0, 1, 5, 62, 63, 64, 65, 125, 126, 127, 128, 4093, 4094, 4095, 4096, 16_370, 16_380, 16_390, 70_000];
        foreach (int length in lengths)
        {
            byte[] text = random.Bytes(length);
            if (length > 0) text[0] = (byte)'x';
            texts.Add(text);
        }
        foreach (int shift in (int[])[0, 6, 7, 8, 11, 12, 13, 15, 16, 22, 23, 24, 31, 32, 40, 62, 63])
        {
            for (long near = -2; near <= 2; near++)
            {
                texts.Add(Ascii(((1L << shift) + near).ToString(CultureInfo.InvariantCulture)));
                texts.Add(Ascii((-(1L << shift) + near).ToString(CultureInfo.InvariantCulture)));
            }
        }
        foreach (string text in (string[])["-", "-0", "00", "01", "+1", "1 ", " 1", "1.0",
            "9223372036854775808", "-9223372036854775809",
            "18446744073709551616", "99999999999999999999", "123456789012345678901", "a", "-a"])
            texts.Add(Ascii(text));
        return texts;
    }

    private static byte[] Ascii(string text) => Encoding.ASCII.GetBytes(text);

    private static byte[] Text(Element element) => element.Text(stackalloc byte[IntegerText.MaxLength]).ToArray();

    [Fact]
    public void OnlyCanonicalTextIsStoredAsInteger()
    {
        Random random = Seed.Random(output);
        foreach (byte[] text in Texts(random))
        {
            string asString = Encoding.Latin1.GetString(text);
            bool expected = long.TryParse(asString, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long value)
                && value.ToString(CultureInfo.InvariantCulture) == asString;
            Assert.Equal(expected, IntegerText.TryParse(text, out long parsed));
            if (!expected) continue;
            Assert.Equal(value, parsed);
            var written = new byte[IntegerText.MaxLength];
            Assert.True(written.AsSpan(0, IntegerText.Format(value, written)).SequenceEqual(text));
            Assert.Equal(text.Length, IntegerText.LengthOf(value));
        }
    }

    [Fact]
    public void EntriesCanBeReadBothWaysAndFound()
    {
        Random random = Seed.Random(output);
        List<byte[]> texts = Texts(random);
        for (int round = 0; round < 20; round++)
        {
            texts = [.. texts.OrderBy(_ => random.Next())];
            var entries = new List<byte>();
            var starts = new List<int>();
            foreach (byte[] text in texts)
            {
                Element element = Element.Of(text);
                var entry = new byte[Packed.SizeOf(element)];
                Assert.Equal(entry.Length, Packed.Write(entry, element));
                starts.Add(entries.Count);
                entries.AddRange(entry);
            }
            byte[] bytes = [.. entries];
            Assert.Equal(texts.Count, Packed.Count(bytes));
            int at = 0;
            for (int i = 0; i < texts.Count; i++)
            {
                Assert.Equal(starts[i], at);
                Assert.Equal(texts[i], Text(Packed.Read(bytes, at, out int next)));
                Assert.Equal(next, Packed.Next(bytes, at));
                Assert.Equal(at, Packed.Previous(bytes, next));
                at = next;
            }
            Assert.Equal(bytes.Length, at);
            for (int i = 0; i < texts.Count; i++)
            {
                int first = texts.FindIndex(text => text.AsSpan().SequenceEqual(texts[i]));
                Assert.Equal(starts[first], Packed.Find(bytes, 0, Element.Of(texts[i])));
                if (first % 3 == 1) Assert.Equal(starts[first], Packed.Find(bytes, starts[1], Element.Of(texts[i]), stride: 3));
            }
            Assert.Equal(-1, Packed.Find(bytes, 0, Element.Of("not there"u8)));
            Assert.Equal(-1, Packed.Find(bytes, 0, Element.Of("77777777"u8)));
        }
    }

    [Fact]
    public void ElementsWithEqualTextAreEqual()
    {
        Random random = Seed.Random(output);
        List<byte[]> texts = Texts(random);
        foreach (byte[] left in texts)
        {
            foreach (byte[] right in texts)
            {
                bool equal = left.AsSpan().SequenceEqual(right);
                Assert.Equal(equal, Element.Of(left).Is(Element.Of(right)));
                Assert.Equal(equal, Element.Of(left).Is(new Element(right)));
                Assert.Equal(equal, new Element(left).Is(Element.Of(right)));
                Assert.Equal(equal, Element.Of(left).Is(right));
                Assert.Equal(Math.Sign(left.AsSpan().SequenceCompareTo(right)), Math.Sign(Element.Of(left).CompareTo(right)));
            }
            Assert.Equal(left.Length, Element.Of(left).Length);
        }
    }

    /// <summary>The bytes are those in the DUMP of a list with this one element in redis-server.</summary>
    [Theory]
    [InlineData("0", "00-01")]
    [InlineData("127", "7F-01")]
    [InlineData("128", "C0-80-02")]
    [InlineData("-1", "DF-FF-02")]
    [InlineData("4095", "CF-FF-02")]
    [InlineData("-4096", "D0-00-02")]
    [InlineData("4096", "F1-00-10-03")]
    [InlineData("32768", "F2-00-80-00-04")]
    [InlineData("8388608", "F3-00-00-80-00-05")]
    [InlineData("2147483648", "F4-00-00-00-80-00-00-00-00-09")]
    [InlineData("abc", "83-61-62-63-04")]
    [InlineData("", "80-01")]
    public void EntriesMatchRedisListpack(string text, string bytes)
    {
        var entry = new byte[16];
        int size = Packed.Write(entry, Element.Of(Ascii(text)));
        Assert.Equal(bytes, BitConverter.ToString(entry, 0, size));
    }

    [Fact]
    public void BlockMatchesListModel()
    {
        Random random = Seed.Random(output);
        for (int round = 0; round < 200; round++)
        {
            var bytes = new byte[random.Next(40, 400)];
            ListBlock block = ListBlock.Format(bytes);
            var model = new List<string>();
            for (int step = 0; step < 300; step++)
            {
                string text = new('v', random.Next(12));
                Element element = Element.Of(Ascii(text));
                int index = random.Next(4) switch { 0 => 0, 1 => model.Count, _ => random.Next(model.Count + 1) };
                if (random.Next(5) < 3 && block.Free >= Packed.SizeOf(element))
                {
                    block.Insert(block.PositionOf(index), element);
                    model.Insert(index, text);
                }
                else if (index < model.Count)
                {
                    int count = random.Next(model.Count - index) / 2 + 1;
                    block.Remove(block.PositionOf(index), count);
                    model.RemoveRange(index, count);
                }
                if (random.Next(20) == 0) block.Compact();
                Assert.Equal(model.Count, block.Count);
                var found = new List<string>();
                for (int at = 0; at < block.Used;)
                    found.Add(Encoding.ASCII.GetString(Text(Packed.Read(block.Entries, at, out at))));
                Assert.Equal(model, found);
                Assert.Equal(bytes.Length, ListBlock.HeaderBytes + block.Used + block.Free);
            }
        }
    }
}
