using RedisClone.Journal.Rdb;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;

namespace RedisClone.Engine.Durability;

/// <summary>
/// Builds a stream from its RDB form. Entries must be in ascending order, and every pending entry must have one owner.
/// Contradictory data is refused.
/// </summary>
internal sealed class StreamValueReader
{
    private const int MaxText = 1 << 30;
    private const int FirstBytes = 256, KeptBytes = 64 << 10;
    private const int MostSeconds = 86_400, MostMessages = 10_000;

    private readonly List<int> _ends = [];
    private byte[] _words = new byte[FirstBytes];
    private byte[] _groupName = new byte[64], _consumerName = new byte[64];
    private int _groupNameLength, _consumerNameLength;
    private StreamId _entry;
    private int _fields;
    private long _unowned;
    private bool _estimatesRead;

    /// <summary>Whether a stream is being built.</summary>
    public bool IsOpen { get; private set; }

    public void Start()
    {
        Stop();
        IsOpen = true;
    }

    public void Stop()
    {
        (IsOpen, _fields, _unowned, _estimatesRead) = (false, 0, 0, false);
        _ends.Clear();
    }

    /// <summary>Releases long buffers.</summary>
    public void Trim()
    {
        if (_words.Length > KeptBytes) _words = new byte[FirstBytes];
        if (_groupName.Length > KeptBytes) _groupName = [];
        if (_consumerName.Length > KeptBytes) _consumerName = [];
    }

    public bool Entry(RdbStreamId id, int fields)
    {
        if (fields == 0) return false;
        _entry = Id(id);
        _fields = fields;
        _ends.Clear();
        return true;
    }

    public bool Field(in Entry stream, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
    {
        if (!TryKeep(field) || !TryKeep(value)) return false;
        if (_ends.Count < 2 * _fields) return true;
        return _entry > StreamValue.State(stream).Last && StreamValue.Append(stream, _entry, new Words(_words, _ends));
    }

    public bool State(in Entry stream, in RdbStreamState state)
    {
        _estimatesRead = !state.IsComplete;
        if (StreamValue.Count(stream) > 0 && Id(state.Last) < StreamValue.LastEntry(stream)) return false;
        // Counters from outside stay within the range that the commands of the journal accept.
        ulong added = Math.Clamp(state.EntriesAdded, (ulong)StreamValue.Count(stream), long.MaxValue);
        StreamId last = Id(state.Last), highestDeleted = Id(state.HighestDeleted);
        StreamValue.SetState(stream, new StreamState(last, highestDeleted < last ? highestDeleted : last, added));
        return true;
    }

    public bool Group(in Entry stream, ReadOnlySpan<byte> name, RdbStreamId last, long entriesRead)
    {
        if (_unowned != 0 || StreamGroup.TryGet(stream, name, out _)) return false;
        if (_estimatesRead) entriesRead = StreamCounts.Of(stream).ReadUpTo(Id(last));
        StreamGroup.Add(stream, name, Id(last), Math.Max(entriesRead, StreamGroup.UnknownRead));
        Keep(name, ref _groupName, ref _groupNameLength);
        return true;
    }

    public bool Pending(in Entry stream, RdbStreamId id, long delivered, ulong deliveries)
    {
        StreamGroup group = GroupOf(stream);
        if (group.TryGetPending(Id(id), out _)) return false;
        group.SetPending(Id(id), default, delivered, (long)Math.Min(deliveries, long.MaxValue));
        _unowned++;
        return true;
    }

    public bool Consumer(in Entry stream, ReadOnlySpan<byte> name, long seen, long active)
    {
        StreamGroup group = GroupOf(stream);
        if (group.TryGetConsumer(name, out _)) return false;
        StreamConsumer consumer = group.AddConsumer(name, seen);
        consumer.Active = active;
        Keep(name, ref _consumerName, ref _consumerNameLength);
        return true;
    }

    public bool ConsumerPending(in Entry stream, RdbStreamId id)
    {
        StreamGroup group = GroupOf(stream);
        if (!group.TryGetPending(Id(id), out PendingEntry pending) || pending.HasConsumer) return false;
        group.TryGetConsumer(_consumerName.AsSpan(0, _consumerNameLength), out StreamConsumer consumer);
        group.SetPending(pending.Id, consumer, pending.Delivered, pending.Deliveries);
        _unowned--;
        return true;
    }

    /// <summary>Adds a pending entry that a consumer returned. It has no consumer and is the first to be claimed.</summary>
    public bool Returned(in Entry stream, RdbStreamId id)
    {
        StreamGroup group = GroupOf(stream);
        if (!group.TryGetPending(Id(id), out PendingEntry pending) || pending.HasConsumer || _unowned == 0) return false;
        group.Return(pending.Id, pending.Deliveries);
        _unowned--;
        return true;
    }

    /// <summary>Adds a message to the history of a producer. The limits of the history follow after all messages.</summary>
    public static bool Message(in Entry stream, ReadOnlySpan<byte> producer, ReadOnlySpan<byte> message, RdbStreamId id)
    {
        if (producer.IsEmpty || message.IsEmpty) return false;
        StreamProducers producers = StreamProducers.Obtain(stream, MostSeconds, MostMessages);
        if (producers.TryFind(producer, message, out _)) return false;
        producers.Remember(producer, message, Id(id));
        return true;
    }

    public static bool Idempotence(in Entry stream, ulong seconds, ulong most, ulong added, ulong duplicates)
    {
        if (seconds is < 1 or > MostSeconds || most is < 1 or > MostMessages) return false;
        StreamProducers producers = StreamProducers.Obtain(stream, (long)seconds, (long)most);
        producers.SetLimits((long)seconds, (long)most);
        producers.SetCounts((long)added, (long)duplicates);
        return true;
    }

    public bool End(in Entry stream) => _unowned == 0;

    private StreamGroup GroupOf(in Entry stream)
    {
        StreamGroup.TryGet(stream, _groupName.AsSpan(0, _groupNameLength), out StreamGroup group);
        return group;
    }

    private bool TryKeep(ReadOnlySpan<byte> word)
    {
        int from = _ends.Count == 0 ? 0 : _ends[^1];
        if (from + (long)word.Length > MaxText) return false;
        if (_words.Length < from + word.Length) Array.Resize(ref _words, Math.Max(from + word.Length, _words.Length * 2));
        word.CopyTo(_words.AsSpan(from));
        _ends.Add(from + word.Length);
        return true;
    }

    private static void Keep(ReadOnlySpan<byte> name, ref byte[] into, ref int length)
    {
        if (into.Length < name.Length) into = new byte[name.Length];
        name.CopyTo(into);
        length = name.Length;
    }

    private static StreamId Id(RdbStreamId id) => new(id.Milliseconds, id.Sequence);

    private readonly ref struct Words(byte[] words, List<int> ends) : IStreamFields
    {
        public int Count => ends.Count / 2;

        public ReadOnlySpan<byte> Name(int index) => Word(2 * index);

        public ReadOnlySpan<byte> Value(int index) => Word(2 * index + 1);

        private ReadOnlySpan<byte> Word(int index) => words.AsSpan((index == 0 ? 0 : ends[index - 1])..ends[index]);
    }
}
