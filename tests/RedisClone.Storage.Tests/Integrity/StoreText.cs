using System.Globalization;
using System.Text;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values;
using RedisClone.Storage.Values.Hashes;
using RedisClone.Storage.Values.Lists;
using RedisClone.Storage.Values.Sets;
using RedisClone.Storage.Values.SortedSets;
using RedisClone.Storage.Values.Streams;
using RedisClone.Storage.Values.Strings;

namespace RedisClone.Storage.Tests;

/// <summary>The content of keys as text, to compare two stores. An empty collection is the same as no key.</summary>
internal static class StoreText
{
    public static string Of(Keyspace keyspace, IEnumerable<byte[]> keys)
    {
        var text = new StringBuilder();
        foreach (byte[] key in keys) Write(text, keyspace.Locate(key));
        return text.ToString();
    }

    public static string Of(in Entry entry)
    {
        var text = new StringBuilder();
        Write(text, entry);
        return text.ToString();
    }

    public static Entry Locate(this Keyspace keyspace, byte[] key) => keyspace.Find(key, KeyHash.Of(key));

    private static void Write(StringBuilder text, in Entry entry)
    {
        if (!entry.Exists || IsEmpty(entry)) return;
        text.Append(CultureInfo.InvariantCulture, $"{Text(new Element(entry.Key))}: {entry.Type} until {entry.Expiry}:");
        switch (entry.Type)
        {
            case ValueType.String:
                Span<byte> scratch = stackalloc byte[IntegerText.MaxLength];
                ReadOnlySpan<byte> bytes = StringValue.Bytes(entry, scratch);
                text.Append(CultureInfo.InvariantCulture, $" {bytes.Length} bytes, {KeyHash.Of(bytes)}");
                break;
            case ValueType.Set:
                List<string> members = [];
                foreach (Element member in SetValue.Members(entry)) members.Add(Text(member));
                text.AppendJoin(' ', members.Order(StringComparer.Ordinal));
                break;
            case ValueType.Hash:
                List<string> fields = [];
                foreach (HashField field in HashValue.Fields(entry, withExpired: true))
                    fields.Add($"{Text(field.Name)}={Text(field.Value)}@{field.Expiry}");
                text.AppendJoin(' ', fields.Order(StringComparer.Ordinal));
                break;
            case ValueType.SortedSet:
                foreach (ScoredMember member in SortedSetValue.Members(entry))
                    text.Append(CultureInfo.InvariantCulture, $" {Text(member.Member)}={member.Score}");
                break;
            case ValueType.List:
                foreach (Element element in ListValue.Elements(entry)) text.Append(' ').Append(Text(element));
                break;
            default:
                WriteStream(text, entry);
                break;
        }
        text.AppendLine();
    }

    private static bool IsEmpty(in Entry entry) => entry.Type switch
    {
        ValueType.Set => SetValue.Count(entry) == 0,
        ValueType.Hash => HashValue.Count(entry) == 0,
        ValueType.SortedSet => SortedSetValue.Count(entry) == 0,
        ValueType.List => ListValue.Count(entry) == 0,
        _ => false,
    };

    private static void WriteStream(StringBuilder text, in Entry entry)
    {
        text.Append(CultureInfo.InvariantCulture, $" {StreamValue.State(entry)}");
        foreach (StreamEntry one in StreamValue.Entries(entry))
        {
            text.Append(CultureInfo.InvariantCulture, $" {one.Id}");
            foreach (StreamFields field in one) text.Append(' ').Append(Text(field.Name)).Append('=').Append(Text(field.Value));
        }
        for (long i = 0; i < StreamGroup.Count(entry); i++) WriteGroup(text, StreamGroup.At(entry, i));
        StreamProducers producers = StreamProducers.Of(entry);
        for (long i = 0; producers.Exist && i < producers.Count; i++)
        {
            text.Append(CultureInfo.InvariantCulture, $"\n producer {Text(new Element(producers.NameAt(i)))}:");
            for (long j = 0; j < producers.MessagesAt(i); j++)
            {
                string message = Text(new Element(producers.MessageAt(i, j, out StreamId id)));
                text.Append(CultureInfo.InvariantCulture, $" {message}={id}");
            }
        }
    }

    private static void WriteGroup(StringBuilder text, StreamGroup group)
    {
        text.Append("\n group ").Append(Text(new Element(group.Name)));
        text.Append(CultureInfo.InvariantCulture, $" {group.Last} {group.EntriesRead} {group.ReturnedCount}:");
        for (long i = 0; i < group.ConsumerCount; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            text.Append(CultureInfo.InvariantCulture, $" {Text(new Element(consumer.Name))} has {consumer.PendingCount}");
        }
        for (StreamId next = StreamId.Min; group.TryNextPending(next, out PendingEntry pending);)
        {
            string owner = pending.HasConsumer ? Text(new Element(group.ConsumerOf(pending).Name)) : "no consumer";
            text.Append(CultureInfo.InvariantCulture, $" {pending.Id} {owner} {pending.Order} {pending.Deliveries}");
            if (!pending.Id.TryNext(out next)) break;
        }
    }

    private static string Text(Element element) =>
        Encoding.Latin1.GetString(element.Text(stackalloc byte[IntegerText.MaxLength]));
}
