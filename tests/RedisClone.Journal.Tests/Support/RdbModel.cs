using RedisClone.Journal.Rdb;
using RedisClone.Journal.Reading;

namespace RedisClone.Journal.Tests.Support;

/// <summary>A value with its elements in the order in which they were read.</summary>
public sealed class RdbValue : IRdbValueVisitor
{
    private readonly HashSet<string> _members = [];

    public RdbValueKind Kind { get; private set; }

    public List<byte[]> Items { get; } = [];

    public List<double> Scores { get; } = [];

    public List<long> Expires { get; } = [];

    public List<(RdbStreamId Id, List<byte[]> Words)> Entries { get; } = [];

    public RdbStreamState State { get; private set; }

    public List<StreamGroupModel> Groups { get; } = [];

    public List<(string Producer, string Message, RdbStreamId Id)> Messages { get; } = [];

    public bool IsComplete { get; private set; }

    public bool HasExpires => Expires.Any(e => e >= 0);

    public bool Begin(RdbValueKind kind, long countHint)
    {
        Kind = kind;
        return true;
    }

    public bool String(ReadOnlySpan<byte> value) => Add(value);

    public bool ListElement(ReadOnlySpan<byte> value) => Add(value);

    public bool SetMember(ReadOnlySpan<byte> member) => Unique(member) && Add(member);

    public bool HashField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expireMilliseconds)
    {
        Expires.Add(expireMilliseconds);
        return Unique(field) && Add(field) && Add(value);
    }

    public bool SortedSetMember(ReadOnlySpan<byte> member, double score)
    {
        Scores.Add(score);
        return Unique(member) && Add(member);
    }

    public bool StreamEntry(RdbStreamId id, int fields)
    {
        Entries.Add((id, []));
        return true;
    }

    public bool StreamField(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        Entries[^1].Words.Add(field.ToArray());
        Entries[^1].Words.Add(value.ToArray());
        return true;
    }

    public bool StreamState(in RdbStreamState state)
    {
        State = state;
        return true;
    }

    public bool StreamGroup(ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead)
    {
        Groups.Add(new(name.ToArray(), last, entriesRead));
        return true;
    }

    public bool StreamPending(RdbStreamId id, long deliveredMilliseconds, ulong deliveries)
    {
        Groups[^1].Pending.Add((id, deliveredMilliseconds, deliveries));
        return true;
    }

    public bool StreamConsumer(ReadOnlySpan<byte> name, long seenMilliseconds, long activeMilliseconds)
    {
        Groups[^1].Consumers.Add((name.ToArray(), seenMilliseconds, activeMilliseconds, []));
        return true;
    }

    public bool StreamConsumerPending(RdbStreamId id)
    {
        Groups[^1].Consumers[^1].Pending.Add(id);
        return true;
    }

    public bool StreamReturned(RdbStreamId id)
    {
        Groups[^1].Returned.Add(id);
        return true;
    }

    public bool StreamIdempotence(ulong seconds, ulong maxMessages, ulong added, ulong duplicates) => true;

    public bool StreamProducerMessage(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, RdbStreamId id)
    {
        Messages.Add((System.Text.Encoding.Latin1.GetString(producer), System.Text.Encoding.Latin1.GetString(message), id));
        return true;
    }

    public bool End() => IsComplete = true;

    private bool Unique(ReadOnlySpan<byte> member) => _members.Add(System.Text.Encoding.Latin1.GetString(member));

    private bool Add(ReadOnlySpan<byte> item)
    {
        Items.Add(item.ToArray());
        return true;
    }
}

public sealed record StreamGroupModel(byte[] Name, RdbStreamId Last, long EntriesRead)
{
    public List<(RdbStreamId Id, long Delivered, ulong Deliveries)> Pending { get; } = [];

    public List<(byte[] Name, long Seen, long Active, List<RdbStreamId> Pending)> Consumers { get; } = [];

    public List<RdbStreamId> Returned { get; } = [];
}

/// <summary>
/// A whole RDB in memory. It is read with the tested reader and written with the tested writer, in several forms.
/// </summary>
public sealed class RdbModel : IRdbVisitor
{
    public sealed record Entry(int Database, byte[] Name, long Expire, long Idle, int Frequency, RdbValue Value);

    public List<Entry> Keys { get; } = [];

    /// <summary>
    /// If true, values are received unparsed when the reader can measure them, and are parsed separately.
    /// </summary>
    public bool TakesValues { get; init; }

    public int Taken { get; private set; }

    public List<(string Name, string Value)> Facts { get; } = [];

    public List<byte[]> Functions { get; } = [];

    public void Aux(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) =>
        Facts.Add((System.Text.Encoding.Latin1.GetString(name), System.Text.Encoding.Latin1.GetString(value)));

    public void Resize(int database, long keys, long expiring) { }

    public string? Function(ReadOnlySpan<byte> code)
    {
        Functions.Add(code.ToArray());
        return null;
    }

    public string? Value(in RdbKey key, RdbType type, ReadOnlySpan<byte> value)
    {
        var reader = new RdbReader(value.ToArray());
        switch (RdbValueReader.Read(reader, (byte)type, Key(key)))
        {
            case RdbResult.Damaged:
                return reader.Error;
            case RdbResult.Empty:
                SkippedEmpty();
                break;
            default:
                Taken++;
                break;
        }
        Assert.Equal(0, reader.Remaining);
        return null;
    }

    /// <summary>
    /// Reads a file in both ways, which must give the same result. Returns null, or a description of the damage.
    /// </summary>
    public static string? TryRead(byte[] bytes, out RdbModel model, bool verifyChecksum = true)
    {
        model = new();
        var reader = new RdbReader(bytes);
        var error = RdbFileReader.Read(reader, model, verifyChecksum);
        var taken = new RdbModel { TakesValues = true };
        var other = new RdbReader(bytes);
        Assert.Equal(error is null, RdbFileReader.Read(other, taken, verifyChecksum) is null);
        if (error is not null) return error;
        Assert.Equal(reader.Offset, other.Offset);
        Assert.Equal(model.Keys.Count, taken.Taken);
        Assert.Equal(model.Write(packed: false, RdbVersion.Redis74), taken.Write(packed: false, RdbVersion.Redis74));
        return null;
    }

    public IRdbValueVisitor Key(in RdbKey key)
    {
        Keys.Add(new(key.Database, key.Name.ToArray(), key.ExpireMilliseconds, key.IdleSeconds, key.Frequency, new RdbValue()));
        return Keys[^1].Value;
    }

    public void SkippedEmpty() => Keys.RemoveAt(Keys.Count - 1);

    /// <summary>Writes the whole model, in packed forms if they can represent a value.</summary>
    public byte[] Write(bool packed, int version, bool compress = true)
    {
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target, compress, bufferSize: 600);
        writer.Header(version);
        foreach (var (name, value) in Facts)
            writer.Aux(System.Text.Encoding.Latin1.GetBytes(name), System.Text.Encoding.Latin1.GetBytes(value));
        foreach (var function in Functions) writer.Function(function);
        foreach (var group in Keys.GroupBy(k => k.Database))
        {
            writer.SelectDatabase(group.Key);
            writer.ResizeDatabase(group.Count(), group.Count(k => k.Expire >= 0));
            foreach (var key in group)
            {
                writer.KeyAttributes(key.Expire, key.Idle, key.Frequency);
                WriteValue(writer, key.Value, packed, version, key.Name);
            }
        }
        writer.End();
        return target.Bytes.ToArray();
    }

    /// <summary>Writes the type byte, the name of the key (none in a DUMP payload) and the value.</summary>
    public static void WriteValue(RdbWriter writer, RdbValue value, bool packed, int version, byte[]? name)
    {
        var isSmall = packed && value.Items.Count < 500;
        switch (value.Kind)
        {
            case RdbValueKind.String:
                Start(RdbType.String);
                writer.String(value.Items[0]);
                break;
            case RdbValueKind.List when packed:
                Start(RdbType.ListQuicklist);
                writer.Length((ulong)value.Items.Chunk(100).Count());
                foreach (var chunk in value.Items.Chunk(100))
                {
                    writer.Length(2);
                    writer.String(Listpack(chunk));
                }
                break;
            case RdbValueKind.List:
                Start(RdbType.List);
                WriteAll();
                break;
            case RdbValueKind.Set when isSmall && value.Items.All(IsNumber):
                Start(RdbType.SetIntset);
                writer.String(IntsetWriter.Write([.. value.Items.Select(i => long.Parse(i, null)).Order()]));
                break;
            case RdbValueKind.Set when isSmall && version >= 11:
                Start(RdbType.SetListpack);
                writer.String(Listpack(value.Items));
                break;
            case RdbValueKind.Set:
                Start(RdbType.Set);
                WriteAll();
                break;
            case RdbValueKind.Hash when value.HasExpires:
                WriteExpiringHash(writer, value, isSmall, Start);
                break;
            case RdbValueKind.Hash when isSmall:
                Start(RdbType.HashListpack);
                writer.String(Listpack(value.Items));
                break;
            case RdbValueKind.Hash:
                Start(RdbType.Hash);
                writer.Length((ulong)value.Items.Count / 2);
                foreach (var item in value.Items) writer.String(item);
                break;
            case RdbValueKind.SortedSet when isSmall:
                Start(RdbType.SortedSetListpack);
                var pairs = value.Items.Zip(value.Scores).OrderBy(p => p.Second)
                    .ThenBy(p => p.First, Comparer<byte[]>.Create((a, b) => a.AsSpan().SequenceCompareTo(b)));
                writer.String(
                    Listpack(pairs.SelectMany(p => new[] { p.First, System.Text.Encoding.ASCII.GetBytes(ScoreText(p.Second)) })));
                break;
            case RdbValueKind.SortedSet:
                Start(RdbType.SortedSet);
                writer.Length((ulong)value.Items.Count);
                for (var i = 0; i < value.Items.Count; i++)
                {
                    writer.String(value.Items[i]);
                    writer.Double(value.Scores[i]);
                }
                break;
            default:
                var type = version >= 11 ? RdbType.Stream3 : RdbType.Stream2;
                Start(type);
                WriteStream(new RdbStreamWriter(writer), value, type);
                break;
        }

        void Start(RdbType type)
        {
            writer.Type(type);
            if (name is not null) writer.String(name);
        }

        void WriteAll()
        {
            writer.Length((ulong)value.Items.Count);
            foreach (var item in value.Items) writer.String(item);
        }
    }

    private static void WriteExpiringHash(RdbWriter writer, RdbValue value, bool isSmall, Action<RdbType> start)
    {
        var least = value.Expires.Where(e => e >= 0).Min();
        start(isSmall ? RdbType.HashListpackExpiring : RdbType.HashMetadata);
        writer.Milliseconds(least);
        if (isSmall)
        {
            // Ordered by expiry, as Redis does. Fields without an expiry come last.
            var order = Enumerable.Range(0, value.Expires.Count)
                .OrderBy(i => value.Expires[i] < 0 ? long.MaxValue : value.Expires[i]);
            writer.String(Listpack(order.SelectMany(i => new[]
            {
                value.Items[i * 2],
                value.Items[i * 2 + 1],
                System.Text.Encoding.ASCII.GetBytes(Math.Max(0, value.Expires[i]).ToString(null, null)),
            })));
            return;
        }
        writer.Length((ulong)value.Expires.Count);
        for (var i = 0; i < value.Expires.Count; i++)
        {
            writer.Length(value.Expires[i] < 0 ? 0 : (ulong)(value.Expires[i] - least + 1));
            writer.String(value.Items[i * 2]);
            writer.String(value.Items[i * 2 + 1]);
        }
    }

    private static void WriteStream(RdbStreamWriter stream, RdbValue value, RdbType type)
    {
        stream.Begin(value.Entries.Count);
        foreach (var (id, words) in value.Entries)
        {
            stream.BeginEntry(id);
            for (var i = 0; i < words.Count; i += 2) stream.Field(words[i], words[i + 1]);
        }
        stream.EndEntries(type, value.State, value.Groups.Count);
        foreach (var group in value.Groups)
        {
            stream.Group(group.Name, group.Last, group.EntriesRead, group.Pending.Count);
            foreach (var (id, delivered, deliveries) in group.Pending) stream.Pending(id, delivered, deliveries);
            stream.Consumers(group.Consumers.Count);
            foreach (var (name, seen, active, pending) in group.Consumers)
            {
                stream.Consumer(name, seen, active, pending.Count);
                foreach (var id in pending) stream.ConsumerPending(id);
            }
        }
    }

    private static byte[] Listpack(IEnumerable<byte[]> items)
    {
        var writer = new ListpackWriter();
        foreach (var item in items) writer.Append(item);
        return writer.Finish().ToArray();
    }

    private static bool IsNumber(byte[] item) =>
        long.TryParse(item, System.Globalization.NumberStyles.AllowLeadingSign, null, out var n)
            && n.ToString(null, null) == System.Text.Encoding.Latin1.GetString(item);

    private static string ScoreText(double score) =>
        double.IsInfinity(score) ? score > 0 ? "inf" : "-inf" : score.ToString("R", null);
}
