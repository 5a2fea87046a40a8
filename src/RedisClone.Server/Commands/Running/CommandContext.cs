using System.Runtime.CompilerServices;
using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Admin;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Commands;

/// <summary>
/// All that a handler touches: its arguments, its reply, the keys it named, and the ways to say what it did. A bad argument is a value:
/// the first one latches an error, the handler returns, and the error is the reply.
/// </summary>
public ref partial struct CommandContext
{
    private readonly ulong _firstKeyHash;

    internal CommandContext(
        ServerCore server, Session session, CommandRow row, scoped in Request request, ulong firstKeyHash, long now, Lane lane, bool onWorker)
    {
        Server = server;
        Session = session;
        Row = row;
        Args = request;
        Reply = session.Reply;
        Now = now;
        Lane = lane;
        OnWorker = onWorker;
        _firstKeyHash = firstKeyHash;
    }

    public ServerCore Server { get; }

    public Session Session { get; }

    public CommandRow Row { get; }

    /// <summary>The arguments; 0 is the command's name (1 the subcommand's, where there is one).</summary>
    public Request Args { get; }

    public ReplyWriter Reply { get; }

    /// <summary>Unix milliseconds, read once for the batch.</summary>
    public long Now { get; }

    internal Lane Lane { get; }

    /// <summary>False on an I/O thread, where nothing may take long.</summary>
    public bool OnWorker { get; }

    /// <summary>Set by <see cref="MoveToWorker"/>: the command has done nothing yet and is run again on a worker.</summary>
    public bool Moved { get; private set; }

    /// <summary>The error that the handler latched; it is the reply, and nothing else was written.</summary>
    public string? Failure { get; private set; }

    public readonly bool Failed => Failure is not null;

    // ---- arguments

    /// <summary>Latches an error; the first one stays. Always false, so that a check can end in return.</summary>
    public bool Fail(string error)
    {
        Failure ??= error;
        return false;
    }

    /// <summary>
    /// False, with an error latched, where so many elements are more than one command may return. A client whose class has an output limit would
    /// have passed that, and is disconnected.
    /// </summary>
    public bool MayReply(long elements)
    {
        if (elements <= Limits.ReplyElements) return true;
        if (Session.Connection is not null && Reply.Limit < Limits.ReplyBytes) Reply.Overflow();
        return Fail(Errors.OutOfRange);
    }

    public bool FailSyntax() => Fail(Errors.Syntax);

    /// <summary>Whether an argument is this word, in either case.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool Is(int index, ReadOnlySpan<byte> word) => Ascii.EqualsIgnoreCase(Args[index], word);

    /// <summary>A 64-bit integer argument; latches Redis's error where it is none.</summary>
    public long Int64(int index, string error = Errors.NotInteger)
    {
        if (RedisNumber.TryParseInt64(Args[index], out long value)) return value;
        Fail(error);
        return 0;
    }

    /// <summary>An integer argument within bounds; latches <paramref name="error"/> where it is none.</summary>
    public long Int64(int index, long least, long most, string error)
    {
        if (RedisNumber.TryParseInt64(Args[index], out long value) && value >= least && value <= most) return value;
        Fail(error);
        return 0;
    }

    /// <summary>An integer argument that is allowed to be negated.</summary>
    public long NegatableInt64(int index)
    {
        long value = Int64(index);
        if (value == long.MinValue) Fail("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        return value;
    }

    /// <summary>A time to wait in milliseconds, 0 for ever.</summary>
    public long Timeout(int index)
    {
        long milliseconds = Int64(index, "ERR timeout is not an integer or out of range");
        if (!Failed && milliseconds < 0) Fail("ERR timeout is negative");
        if (!Failed && milliseconds > long.MaxValue - Now) Fail("ERR timeout is out of range");
        return milliseconds;
    }

    public double Double(int index, string error = Errors.NotFloat)
    {
        if (RedisNumber.TryParseDouble(Args[index], out double value)) return value;
        Fail(error);
        return 0;
    }

    public readonly string Text(int index) => Encoding.UTF8.GetString(Args[index]);

    /// <summary>An argument as error texts show it.</summary>
    public readonly string Echo(int index) => Errors.Echo(Args[index]);

    // ---- keys

    /// <summary>
    /// Gives the command to the shard's worker when it turns out to be long: called before its first effect, the handler
    /// returns at once. False when it may go on here.
    /// </summary>
    public bool MoveToWorker(long work)
    {
        if (OnWorker || work <= Limits.InlineWork) return false;
        Moved = true;
        return true;
    }

    public readonly ulong HashOf(int argument) => argument == Row.FirstKey && argument != 0 ? _firstKeyHash : KeyHash.Of(Args[argument]);

    public readonly Keyspace KeyspaceOf(ulong hash) => KeyspaceOf(hash, Session.Database);

    public readonly Keyspace KeyspaceOf(ulong hash, int database)
    {
        ShardStore store = Server.Shards.Of(hash).Store;
        store.Now = Now;
        return store.Database(database);
    }

    /// <summary>A held shard's part of the client's database, for commands that walk over all shards.</summary>
    public readonly Keyspace KeyspaceOf(Shard shard)
    {
        shard.Store.Now = Now;
        return shard.Store.Database(Session.Database);
    }

    /// <summary>
    /// Looks a key up in order to read it: what has expired is removed first, hits and misses are counted, the key counts as used.
    /// </summary>
    public Entry FindForRead(int argument)
    {
        Entry entry = PeekForRead(argument);
        if (entry.Exists) Touch(entry);
        return entry;
    }

    /// <summary>The same, but the key does not count as used (EXISTS, TYPE, TTL …).</summary>
    public Entry PeekForRead(int argument)
    {
        Entry entry = Find(Args[argument], HashOf(argument), Session.Database);
        if (entry.Exists)
        {
            Lane.KeyspaceHits++;
            return entry;
        }
        Lane.KeyspaceMisses++;
        Server.Notifications.Publish(NotifyFlags.KeyMiss, "keymiss", Args[argument], Session.Database);
        return entry;
    }

    /// <summary>Looks a key up in order to change it: what has expired is removed first.</summary>
    public Entry FindForWrite(int argument)
    {
        Entry entry = Find(Args[argument], HashOf(argument), Session.Database);
        if (entry.Exists) Touch(entry);
        return entry;
    }

    /// <summary>Looks a key up without counting or touching it (OBJECT, DEBUG …).</summary>
    public Entry Peek(int argument) => Find(Args[argument], HashOf(argument), Session.Database);

    /// <summary>Looks any key up, removing it if it has expired. Its shard must be among those that the command holds.</summary>
    public Entry Find(ReadOnlySpan<byte> key, ulong hash, int database)
    {
        Keyspace keyspace = KeyspaceOf(hash, database);
        Entry entry = keyspace.Find(key, hash);
        if (!entry.Exists) return NoteAbsent(entry, key, database);
        // Whatever a write finds, it may change in place.
        if (Row.IsWrite) keyspace.Preserve(entry);
        long expiry = entry.Expiry;
        if (expiry == 0 || expiry > Now || !Server.ExpiryEnabled) return entry;
        // During a pause the data stand still: what has expired is not seen, and removed later.
        if (Server.Pause.IsOn && !Row.IsWrite) return keyspace.Absent(hash);
        Server.KeyEvents.Expire(entry, database, Lane);
        return NoteAbsent(keyspace.Find(key, hash), key, database);
    }

    /// <summary>Where somebody wants to hear of new keys: the command's first event of this one will say that it is.</summary>
    private readonly Entry NoteAbsent(Entry absent, ReadOnlySpan<byte> key, int database)
    {
        if ((Server.Notifications.Enabled & NotifyFlags.New) != 0) Lane.NoteAbsent(database, key);
        return absent;
    }

    /// <summary>Latches WRONGTYPE where the key holds something else.</summary>
    public bool Expect(in Entry entry, ValueType type) => entry.Type == type || Fail(Errors.WrongType);

    private readonly void Touch(in Entry entry)
    {
        if (!Session.NoTouch) Server.AccessClock.Touch(entry);
    }

    // ---- effects

    /// <summary>
    /// Says that the key at an argument was changed: watchers and caching clients hear of it, subscribers of key events too, and the
    /// command becomes an effect to be journalled (as it was sent, unless <see cref="ReplaceEffect"/> gives its effect instead).
    /// </summary>
    public void Modified(int argument, NotifyFlags kind, string keyEvent) =>
        Modified(Args[argument], HashOf(argument), Session.Database, kind, keyEvent);

    public void Modified(ReadOnlySpan<byte> key, ulong hash, int database, NotifyFlags kind, string keyEvent)
    {
        Changes++;
        Server.KeyEvents.Modified(Server.Shards.Of(hash), key, database, kind, keyEvent, Session, Lane);
    }

    /// <summary>Another key that the same change concerns (such as where an element was moved to): it is not counted again.</summary>
    public readonly void AlsoModified(int argument, NotifyFlags kind, string keyEvent) =>
        Server.KeyEvents.Modified(Server.Shards.Of(HashOf(argument)), Args[argument], Session.Database, kind, keyEvent, Session, Lane);

    /// <summary>A further event of the same change (such as expire after set): no new effect.</summary>
    public readonly void Notify(int argument, NotifyFlags kind, string keyEvent) =>
        Server.KeyEvents.Notify(Args[argument], Session.Database, kind, keyEvent, Lane);

    /// <summary>
    /// Says that a key came to be as a whole, perhaps in another's place: before the events of what it was made from, where the first event of its own
    /// would be too late.
    /// </summary>
    public readonly void NotifyNew(ReadOnlySpan<byte> key, int database)
    {
        Lane.TakeAbsent(database, key);
        Server.Notifications.Publish(NotifyFlags.New, "new", key, database);
    }

    /// <summary>Removes a key that is there, with its event: del unless told otherwise.</summary>
    public void Remove(in Entry entry, int argument, string keyEvent = "del")
    {
        entry.Keyspace.Remove(entry);
        Modified(argument, NotifyFlags.Generic, keyEvent);
    }

    // ---- waiting

    /// <summary>Whether this command may block: not within a transaction or a script, nor when it is already being served.</summary>
    public readonly bool CanBlock => Session.Connection is not null && !Session.InTransaction && Session.Waiter is null;

    /// <summary>Set by <see cref="Block"/>: the command has done nothing yet and will be run again, or answered by a null.</summary>
    public readonly bool Blocked => Waiter is not null;

    internal Waiter? Waiter { get; private set; }

    /// <summary>
    /// Blocks the client until one of these keys holds what it wants, or the time is over (0: never). Called with all the command's
    /// shards held and before any effect; the handler returns without a reply.
    /// </summary>
    /// <param name="milliseconds">Time to wait, 0 for ever.</param>
    /// <param name="wanted">The type that serves it.</param>
    /// <param name="firstKey">The first argument that is a key to wait for.</param>
    /// <param name="keyCount">How many follow one another.</param>
    /// <param name="nullIsArray">Which null answers a timeout.</param>
    /// <param name="test">A further condition on the key's value.</param>
    /// <param name="state">What the test compares with.</param>
    /// <param name="againAfter">Milliseconds after which time alone may have brought what is waited for, 0 for never.</param>
    /// <param name="servedWithoutValue">Whether the command is to run again, for its error, when a key is gone or holds something else.</param>
    public void Block(
        long milliseconds, ValueType wanted, int firstKey, int keyCount, bool nullIsArray, WaitTest? test = null, object? state = null,
        bool servedWithoutValue = false, long againAfter = 0)
    {
        // A command that runs again waits until the time that it was to wait at first.
        long deadline = milliseconds > 0 ? Now + milliseconds : 0;
        if (Session.WaitingAgain is { } before && (deadline = before.Deadline) > 0) milliseconds = Math.Max(1, deadline - Now);
        Action<ReplyWriter> answer = nullIsArray ? static reply => reply.NullArray() : static reply => reply.Null();
        var waiter = new Waiter(Session, wanted, Router.ShardsOf(Server, Session, Row, Args), test, answer)
        {
            State = state,
            ServedWithoutValue = servedWithoutValue,
            Deadline = deadline,
        };
        for (int i = firstKey; i < firstKey + keyCount; i++)
            Server.Shards.Of(HashOf(i)).Keys.AddWaiter(waiter, Session.Database, Args[i]);
        NoteWrittenKeys(waiter, firstKey, keyCount);
        Block(waiter, milliseconds, againAfter);
    }

    /// <summary>Blocks the client for a time (0: for ever) in which no key can serve it; then this is the reply.</summary>
    public void BlockFor(long milliseconds, Action<ReplyWriter> answer) =>
        Block(new Waiter(Session, default, default, test: null, answer), milliseconds, againAfter: 0);

    private void Block(Waiter waiter, long milliseconds, long againAfter)
    {
        Waiter = waiter;
        Session.LastCommand = Row;
        Session.Waiter = waiter;
        Server.Blocked.Entered();
        // The timer may fire at once, on another thread: everything it needs is in place.
        if (againAfter > 0) waiter.StartAgain(againAfter);
        if (milliseconds > 0) waiter.StartTimer(milliseconds);
        // The client may have gone before its waiter was there to be told. Full fence: either we see that, or the other side sees the waiter.
        Interlocked.MemoryBarrier();
        if (Session.Connection is { IsClosed: true }) waiter.Wake(WakeReason.Closed);
    }

    private readonly void NoteWrittenKeys(Waiter waiter, int firstKey, int keyCount)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        if (Row.CollectKeys(Args, ref positions))
            for (int i = 0; i < positions.Count; i++)
                if (positions[i] < firstKey || positions[i] >= firstKey + keyCount)
                    waiter.Written.Add(new DatabaseKey(Session.Database, Args[positions[i]].ToArray()));
        positions.Dispose();
    }

    /// <summary>How many changes the command made; no change, no effect.</summary>
    public int Changes { get; private set; }

    /// <summary>Counts changes to data that no key event tells of.</summary>
    public void Changed(int count = 1) => Changes += count;

    /// <summary>Whether anybody wants effects: handlers that must build another form of themselves ask first.</summary>
    public readonly bool EffectsWanted => Server.Effects.Wanted;

    /// <summary>True once a handler gave its effect itself.</summary>
    internal bool EffectReplaced { get; private set; }

    /// <summary>
    /// The command's effect is not the command itself but what follows: a replay must depend on no clock and no chance. May be called
    /// several times; all parts are one unit.
    /// </summary>
    public void ReplaceEffect(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> first, scoped ReadOnlySpan<byte> second = default, scoped ReadOnlySpan<byte> third = default, scoped ReadOnlySpan<byte> fourth = default, int arguments = -1)
    {
        EffectReplaced = true;
        if (!Server.Effects.Wanted) return;
        int count = arguments >= 0 ? arguments : fourth.IsEmpty ? third.IsEmpty ? second.IsEmpty ? 1 : 2 : 3 : 4;
        EffectBuffer buffer = Lane.Effects;
        buffer.Begin(Session.Database, count + 1);
        buffer.Add(name);
        if (count > 0) buffer.Add(first);
        if (count > 1) buffer.Add(second);
        if (count > 2) buffer.Add(third);
        if (count > 3) buffer.Add(fourth);
    }

    /// <summary>The same for effects of any number of arguments: the caller adds exactly so many to the buffer. Null when nobody wants them.</summary>
    public EffectBuffer? ReplaceEffect(int arguments)
    {
        EffectReplaced = true;
        if (!Server.Effects.Wanted) return null;
        Lane.Effects.Begin(Session.Database, arguments);
        return Lane.Effects;
    }

    /// <summary>Replaces the effect by the removal of what the command took or replaced as a whole.</summary>
    public void ReplaceWithRemoval(int keyArgument) => ReplaceEffect(Server.Config.LazyFreeServerDel ? "UNLINK"u8 : "DEL"u8, Args[keyArgument]);

    /// <summary>Replaces the effect by PEXPIREAT: relative times are decided once, here.</summary>
    public void ReplaceWithExpireAt(int keyArgument, long at)
    {
        if (ReplaceEffect(arguments: 3) is not { } effect) return;
        effect.Add("PEXPIREAT"u8);
        effect.Add(Args[keyArgument]);
        effect.Add(at);
    }
}
