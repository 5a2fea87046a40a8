using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using RedisClone.Journal.Rdb;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// Payloads in encodings that this server reads but does not write: those of Redis 2 to 7.2, and the 7.4 listpacks of fields that
/// expire.
/// </summary>
internal static class OldPayloads
{
    public static IEnumerable<byte[]> All()
    {
        string[] words = ["one", "2", "-300", "70000", "-8388608", "9876543210", "", new string('w', 70), "five", "12"];
        yield return Of(RdbType.List, w => Strings(w, words));
        yield return Of(RdbType.ListZiplist, w => w.String(Ziplist(words)));
        yield return Of(RdbType.ListQuicklistZiplists, w =>
        {
            w.Length(2);
            w.String(Ziplist(words[..4]));
            w.String(Ziplist(words[4..]));
        });
        yield return Of(RdbType.SetListpack, w => w.String(Listpack(words)));
        yield return Of(RdbType.Hash, w => Strings(w, words, counted: words.Length / 2));
        yield return Of(RdbType.HashZipmap, w => w.String(Zipmap(words)));
        yield return Of(RdbType.HashZiplist, w => w.String(Ziplist(words)));
        string[] scores = ["a", "1", "b", "-2.5", "c", "inf", "d", "-inf", "e", "1e300"];
        yield return Of(RdbType.SortedSetZiplist, w => w.String(Ziplist(scores)));
        yield return Of(RdbType.SortedSetText, w =>
        {
            w.Length(4);
            foreach ((string member, byte[] score) in new (string, byte[])[] { ("a", [3, .. "1.5"u8]), ("b", [255]), ("c", [254]), ("d", [2, .. "-7"u8]) })
            {
                w.String(Encoding.ASCII.GetBytes(member));
                w.Raw(score);
            }
        });
        string[] expiring = ["f", "1", "3000000000000", "g", "x", "4000000000000", "h", "", "0"];
        yield return Of(RdbType.HashListpackExpiringOld, w => w.String(Listpack(expiring)));
        yield return Of(RdbType.HashListpackExpiring, w =>
        {
            w.Milliseconds(3_000_000_000_000);
            w.String(Listpack(expiring));
        });
        yield return Of(RdbType.HashMetadataOld, w =>
        {
            w.Length(2);
            w.Length(3_000_000_000_000);
            Strings(w, ["f", "1"], counted: null);
            w.Length(0);
            Strings(w, ["g", "2"], counted: null);
        });
    }

    private static byte[] Of(RdbType type, Action<RdbWriter> value)
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target, compress: false);
        writer.Type(type);
        value(writer);
        DumpPayload.Finish(writer, RdbVersion.Redis74);
        return target.Bytes.ToArray();
    }

    private static void Strings(RdbWriter writer, string[] words) => Strings(writer, words, words.Length);

    private static void Strings(RdbWriter writer, string[] words, int? counted)
    {
        if (counted is { } count) writer.Length((ulong)count);
        foreach (string word in words) writer.String(Encoding.ASCII.GetBytes(word));
    }

    private static byte[] Listpack(string[] words)
    {
        var listpack = new ListpackWriter();
        foreach (string word in words) listpack.Append(Encoding.ASCII.GetBytes(word));
        return listpack.Finish().ToArray();
    }

    private static byte[] Zipmap(string[] words)
    {
        var bytes = new List<byte> { (byte)(words.Length / 2) };
        for (int i = 0; i < words.Length; i++)
        {
            bytes.Add((byte)words[i].Length);
            if (i % 2 == 1) bytes.Add(0);
            bytes.AddRange(Encoding.ASCII.GetBytes(words[i]));
        }
        bytes.Add(255);
        return [.. bytes];
    }

    private static byte[] Ziplist(string[] words)
    {
        var bytes = new List<byte>(new byte[10]);
        int previous = 0;
        foreach (string word in words)
        {
            int from = bytes.Count;
            bytes.Add((byte)previous);
            bytes.AddRange(long.TryParse(word, CultureInfo.InvariantCulture, out long number) ? Integer(number) : Text(word));
            previous = bytes.Count - from;
        }
        byte[] ziplist = [.. bytes, 255];
        BinaryPrimitives.WriteInt32LittleEndian(ziplist, ziplist.Length);
        BinaryPrimitives.WriteInt32LittleEndian(ziplist.AsSpan(4), ziplist.Length - 1 - previous);
        BinaryPrimitives.WriteUInt16LittleEndian(ziplist.AsSpan(8), (ushort)words.Length);
        return ziplist;
    }

    private static byte[] Text(string word) => word.Length < 64
        ? [(byte)word.Length, .. Encoding.ASCII.GetBytes(word)]
        : [(byte)(0x40 | word.Length >> 8), (byte)word.Length, .. Encoding.ASCII.GetBytes(word)];

    private static byte[] Integer(long number)
    {
        byte[] bytes = new byte[9];
        BinaryPrimitives.WriteInt64LittleEndian(bytes.AsSpan(1), number);
        (bytes[0], int length) = number switch
        {
            >= 0 and <= 12 => ((byte)(0xF1 + number), 0),
            >= sbyte.MinValue and <= sbyte.MaxValue => ((byte)0xFE, 1),
            >= short.MinValue and <= short.MaxValue => ((byte)0xC0, 2),
            >= -(1 << 23) and < 1 << 23 => ((byte)0xF0, 3),
            >= int.MinValue and <= int.MaxValue => ((byte)0xD0, 4),
            _ => ((byte)0xE0, 8),
        };
        return bytes[..(1 + length)];
    }
}
