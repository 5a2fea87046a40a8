using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Tests.Support;

/// <summary>An appended unit and its position.</summary>
public sealed record Unit(long Lsn, int Database, byte[] Bytes);

/// <summary>Builds RESP commands.</summary>
public static class Units
{
    public static byte[] Command(params string[] words)
    {
        var command = new StringBuilder().Append('*').Append(words.Length).Append("\r\n");
        foreach (var word in words) command.Append('$').Append(word.Length).Append("\r\n").Append(word).Append("\r\n");
        return Encoding.Latin1.GetBytes(command.ToString());
    }

    public static byte[] Bulk(byte[] value) => [.. value.Length.AsHeader('$'), .. value, (byte)'\r', (byte)'\n'];

    /// <summary>
    /// Returns a SET command or sometimes a transaction. The value may look like content that the journal itself
    /// writes.
    /// </summary>
    public static byte[] Make(Random random, int number, int maxValue = 700)
    {
        if (random.Next(6) > 0) return Set(random, number, maxValue);
        return [.. Command("MULTI"), .. Set(random, number, maxValue), .. Command("DEL", "k" + number), .. Command("EXEC")];
    }

    private static byte[] Set(Random random, int number, int maxValue)
    {
        var value = random.Next(9) switch
        {
            0 => Repeat("#RC1 lsn=0 durable=0 len=0 crc=00000000 chk=00000000\r\n", random.Next(1, 5)),
            1 => Repeat("#\n", random.Next(1, maxValue / 2 + 1)),
            2 => new byte[random.Next(maxValue)],
            3 => [.. Command("SELECT", "3"), .. Command("SET", "a", "b")],
            4 => LooksLikeRedisBehindPadding(random),
            _ => RandomBytes(random, random.Next(maxValue)),
        };
        var key = Encoding.Latin1.GetBytes("key:" + number.ToString(CultureInfo.InvariantCulture));
        return [.. 3.AsHeader('*'), .. Bulk("SET"u8.ToArray()), .. Bulk(key), .. Bulk(value)];
    }

    /// <summary>
    /// Returns a value that looks like padding followed by output of Redis. It is long enough to contain the start of a
    /// sector at any offset. Its last command is incomplete, so that the bytes after it do not contradict.
    /// </summary>
    private static byte[] LooksLikeRedisBehindPadding(Random random)
    {
        byte[] begin = random.Next(3) switch
        {
            0 => [.. "#TS:1700000000\r\n"u8],
            1 => [.. Command("MULTI"), .. Command("SELECT", "3")],
            _ => [],
        };
        var padding = Repeat("#\n", random.Next(600));
        byte[] evil =
        [
            .. Command("EXEC"), .. begin, .. Command("SELECT", "3"), .. Command("SET", "wrong", "state"),
            .. "*2\r\n$3\r\nGET\r\n$9999999\r\n"u8,
        ];
        return [.. padding, .. random.Next(2) == 0 ? evil : evil[14..]];
    }

    private static byte[] Repeat(string line, int times) =>
        Encoding.Latin1.GetBytes(new StringBuilder(line.Length * times).Insert(0, line, times).ToString());

    private static byte[] RandomBytes(Random random, int length)
    {
        var bytes = new byte[length];
        random.NextBytes(bytes);
        return bytes;
    }

    private static byte[] AsHeader(this int count, char prefix) => Encoding.Latin1.GetBytes($"{prefix}{count}\r\n");
}

/// <summary>
/// Collects the contents of a journal. Snapshots are simulated: five letters and the position of the snapshot.
/// </summary>
public sealed class Collector : IJournalSink
{
    public const int SnapshotLength = 24;

    public List<Unit> Units { get; } = [];

    public int Verified { get; private set; }

    public long SnapshotLsn { get; private set; }

    public static byte[] Snapshot(long lsn)
    {
        var bytes = new byte[SnapshotLength];
        "REDIS"u8.CopyTo(bytes);
        BitConverter.TryWriteBytes(bytes.AsSpan(8), lsn);
        BitConverter.TryWriteBytes(bytes.AsSpan(16), ~lsn);
        return bytes;
    }

    public string? LoadSnapshot(IDiskFile file, string name, out long end, out long lsn)
    {
        var bytes = new byte[SnapshotLength];
        var read = file.Read(0, bytes);
        lsn = BitConverter.ToInt64(bytes, 8);
        end = SnapshotLength;
        if (read != SnapshotLength || BitConverter.ToInt64(bytes, 16) != ~lsn) return "snapshot damaged";
        SnapshotLsn = lsn;
        return null;
    }

    public string? Apply(in JournalUnit unit)
    {
        Units.Add(new(unit.Lsn, unit.Database, unit.Bytes.ToArray()));
        if (unit.IsVerified) Verified++;
        return null;
    }
}
