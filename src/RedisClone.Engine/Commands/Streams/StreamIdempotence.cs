using System.Buffers.Binary;
using System.Security.Cryptography;
using RedisClone.Protocol;
using RedisClone.Storage;
using RedisClone.Storage.Structures;
using RedisClone.Storage.Values.Streams;
using static RedisClone.Engine.Commands.CommandFlags;
using static RedisClone.Engine.Commands.KeyFlags;

namespace RedisClone.Engine.Commands.Streams;

/// <summary>
/// Idempotent messages: a producer may send the same message again, and XADD adds it once. This class has the options of XADD
/// for it and the commands that configure it.
/// </summary>
internal static class StreamIdempotence
{
    private const long MostSeconds = 86_400, MostMessages = 10_000;

    public static readonly CommandRow[] Rows =
    [
        new("XCFGSET key [IDMP-DURATION seconds] [IDMP-MAXSIZE count]",
            -2, Keys.At(1, RW | Update), Write | Fast, "stream", "8.6.0", Configure, "Sets how long a stream remembers " +
                "messages of producers, and how many."),
        new("XIDMPRECORD key producer message id",
            5, Keys.At(1, RW | Update), Write | DenyOom | Fast, "stream", "8.8.0", Record,
            "Records which entry a message became; for internal use."),
    ];

    private static void Configure(ref CommandContext c)
    {
        long seconds = -1, most = -1;
        if (c.Args.Count == 2) c.Fail("ERR At least one parameter must be specified");
        for (int i = 2; i < c.Args.Count && !c.Failed; i += 2)
        {
            bool isSeconds = c.Is(i, "IDMP-DURATION"u8);
            if (!isSeconds && !c.Is(i, "IDMP-MAXSIZE"u8) || i + 1 == c.Args.Count)
            {
                c.FailSyntax();
                break;
            }
            long value = c.Int64(i + 1);
            if (!c.Failed && isSeconds && value is < 1 or > MostSeconds) c.Fail("ERR IDMP-DURATION must be between 1 and 86400 seconds");
            else if (!c.Failed && !isSeconds && value is < 1 or > MostMessages) c.Fail("ERR IDMP-MAXSIZE must be between 1 and 10000 entries");
            if (isSeconds) seconds = value;
            else most = value;
        }
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists) c.Fail(Errors.NoSuchKey);
        if (c.Failed || !c.Expect(entry, ValueType.Stream)) return;
        StreamProducers producers = Obtain(ref c, entry);
        producers.Configure(seconds < 0 ? producers.Seconds : seconds, most < 0 ? producers.Most : most);
        TellSettings(ref c, producers);
        c.Changed();
        c.Reply.Ok();
    }

    private static void Record(ref CommandContext c)
    {
        StreamId id = c.StreamId(4);
        if (!c.Failed && (c.Args[2].IsEmpty || c.Args[3].IsEmpty)) c.Fail("ERR IDMP requires a non-empty producer ID and a " +
            "non-empty idempotent ID");
        if (c.Failed) return;
        Entry entry = c.FindForWrite(1);
        if (!entry.Exists) c.Fail(Errors.NoSuchKey);
        if (c.Failed || !c.Expect(entry, ValueType.Stream)) return;
        // An effect says what happened. Its source had forgotten the message, for its age or for the number of messages, and the
        // command that added the entry may have trimmed it too.
        bool isEffect = c.Session.IsReplay || c.Session.IsPrimary;
        StreamProducers producers = StreamProducers.Of(entry);
        // The ID of the entry is the time at the source. What is too old by then, the source has forgotten as well.
        long now = isEffect ? (long)Math.Min(id.Milliseconds, (ulong)c.Now) : c.Now;
        if (producers.Exist) producers.Expire(c.Args[2], now);
        if (producers.Exist && producers.TryFind(c.Args[2], c.Args[3], out StreamId known))
        {
            if (known == id)
            {
                c.Reply.Ok();
                return;
            }
            if (!isEffect) c.Fail("ERR The specified IDMP producer-id/idempotent-id pair maps to a different stream ID");
            else producers.Forget(c.Args[2], c.Args[3]);
        }
        if (!isEffect && !c.Failed && !StreamValue.Contains(entry, id)) c.Fail("ERR The specified stream ID was deleted or doesn't exist");
        if (c.Failed) return;
        Remember(ref c, entry, c.Args[2], c.Args[3], id);
        c.Changed();
        c.Reply.Ok();
    }

    private static void Remember(
        ref CommandContext c, in Entry entry, scoped ReadOnlySpan<byte> producer, scoped ReadOnlySpan<byte> message, StreamId id)
    {
        bool isFirst = !StreamProducers.Of(entry).Exist;
        StreamProducers producers = Obtain(ref c, entry);
        producers.Remember(producer, message, id);
        if (isFirst) TellSettings(ref c, producers);
        if (c.ReplaceEffect(arguments: 5) is not { } effect) return;
        effect.Add("XIDMPRECORD"u8);
        effect.Add(c.Args[1]);
        effect.Add(producer);
        effect.Add(message);
        effect.Add(id);
    }

    /// <summary>Adds both settings as an effect, because the parameters of the server that replays it may differ.</summary>
    private static void TellSettings(ref CommandContext c, StreamProducers producers)
    {
        if (c.ReplaceEffect(arguments: 6) is not { } effect) return;
        effect.Add("XCFGSET"u8);
        effect.Add(c.Args[1]);
        effect.Add("IDMP-DURATION"u8);
        effect.Add(producers.Seconds);
        effect.Add("IDMP-MAXSIZE"u8);
        effect.Add(producers.Most);
    }

    private static StreamProducers Obtain(ref CommandContext c, in Entry entry) =>
        StreamProducers.Obtain(entry, c.Data.Config.StreamIdmpDuration, c.Data.Config.StreamIdmpMaxSize);

    /// <summary>The producer and message options of XADD.</summary>
    internal struct Message
    {
        private const int DigestBytes = 16;

        private int _producer, _message;

        public readonly bool IsGiven => _producer > 0;

        /// <summary>
        /// Reads the option at an argument and advances the index to its last argument. It returns false for any other
        /// option.
        /// </summary>
        public bool TryRead(ref CommandContext c, ref int argument)
        {
            bool auto = c.Is(argument, "IDMPAUTO"u8);
            int arguments = auto ? 1 : 2;
            if (!auto && !c.Is(argument, "IDMP"u8) || argument + arguments >= c.Args.Count) return false;
            if (IsGiven) return c.Fail("ERR IDMP/IDMPAUTO specified multiple times");
            _producer = argument + 1;
            _message = auto ? 0 : argument + 2;
            argument += arguments;
            if (c.Args[_producer].IsEmpty) c.Fail(auto ? "ERR IDMPAUTO requires a non-empty producer ID" : "ERR IDMP requires a non-empty producer ID");
            else if (!auto && c.Args[_message].IsEmpty) c.Fail("ERR IDMP requires a non-empty idempotent ID");
            return true;
        }

        /// <summary>
        /// Finds the entry that an earlier copy of the message added. Messages older than the configured duration are removed
        /// first.
        /// </summary>
        public readonly bool TryFind(ref CommandContext c, in Entry entry, int fields, out StreamId id)
        {
            id = default;
            StreamProducers producers = StreamProducers.Of(entry);
            if (!producers.Exist) return false;
            producers.Expire(c.Args[_producer], c.Now);
            Span<byte> digest = stackalloc byte[DigestBytes];
            if (!producers.TryFind(c.Args[_producer], Name(c.Args, fields, digest), out id)) return false;
            producers.CountDuplicate();
            return true;
        }

        public readonly void Remember(ref CommandContext c, in Entry entry, int fields, StreamId id)
        {
            Span<byte> digest = stackalloc byte[DigestBytes];
            StreamIdempotence.Remember(ref c, entry, c.Args[_producer], Name(c.Args, fields, digest), id);
        }

        /// <summary>
        /// The name of the message: the given one, or a digest of the fields. The digest does not depend on the order of the
        /// fields, and it is the same on every server.
        /// </summary>
        private readonly ReadOnlySpan<byte> Name(Request args, int fields, Span<byte> digest)
        {
            if (_message > 0) return args[_message];
            Span<byte> part = stackalloc byte[SHA256.HashSizeInBytes], length = stackalloc byte[sizeof(int)];
            (ulong low, ulong high) = (0, 0);
            using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
            for (int i = fields; i < args.Count; i += 2)
            {
                BinaryPrimitives.WriteInt32LittleEndian(length, args[i].Length);
                hash.AppendData(length);
                hash.AppendData(args[i]);
                hash.AppendData(args[i + 1]);
                hash.GetHashAndReset(part);
                low += BinaryPrimitives.ReadUInt64LittleEndian(part);
                high += BinaryPrimitives.ReadUInt64LittleEndian(part[8..]);
            }
            BinaryPrimitives.WriteUInt64LittleEndian(digest, low);
            BinaryPrimitives.WriteUInt64LittleEndian(digest[8..], high);
            return digest;
        }
    }
}
