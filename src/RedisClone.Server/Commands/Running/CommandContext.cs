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
/// The running of a command, all that its handler touches: its arguments, its reply, the keys it named, and the ways to say what it did. A bad argument is a value:
/// the first one latches an error, the handler returns, and the error is the reply.
/// </summary>
internal ref partial struct CommandContext
{
    private readonly ulong _firstKeyHash;
    private readonly ref readonly ShardSet _held;

    internal CommandContext(Session session, CommandRow row, scoped in Request request, ulong firstKeyHash, Lane lane, in ShardSet held)
    {
        Server = session.Server;
        Session = session;
        Row = row;
        Args = request;
        Reply = session.Reply;
        Lane = lane;
        _firstKeyHash = firstKeyHash;
        _held = ref held;
    }

    public ServerCore Server { get; }

    public Session Session { get; }

    public CommandRow Row { get; }

    /// <summary>What the command does with these arguments, for this client.</summary>
    internal readonly CommandFlags Flags => Row.FlagsFor(Args, Session);

    /// <summary>The arguments; 0 is the command's name (1 the subcommand's, where there is one).</summary>
    public Request Args { get; }

    public ReplyWriter Reply { get; }

    /// <summary>Unix milliseconds, read once for the batch.</summary>
    public required long Now { get; init; }

    internal Lane Lane { get; }

    /// <summary>The shards that are held for it, or for the whole that it is a part of.</summary>
    internal readonly ref readonly ShardSet Held => ref _held;

    /// <summary>False on an I/O thread, where nothing may take long.</summary>
    public required bool OnWorker { get; init; }

    /// <summary>Set by <see cref="MoveToWorker"/>: the command has done nothing yet and is run again on a worker.</summary>
    public bool Moved { get; private set; }

    /// <summary>What the client waits by; null while it does not.</summary>
    internal Waiter? Waiter { get; private set; }

    /// <summary>The error that the handler latched; it is the reply, and nothing else was written.</summary>
    public string? Failure { get; private set; }

    public readonly bool Failed => Failure is not null;

    /// <summary>
    /// The client is gone or was sent too much, so the reply reaches no one: a walk that changes nothing may end early.
    /// </summary>
    public readonly bool IsAbandoned => Reply.Overflowed || Session.Connection is { IsClosed: true };

    /// <summary>
    /// The longest string that the command may make. A replay obeys only the limit that no configuration changes: the
    /// configuration may have been another one when the command was journalled.
    /// </summary>
    public readonly long LongestString =>
        Session.IsReplay ? Limits.MaxValueBytes : Math.Min(Server.Config.ProtoMaxBulkLen, Limits.MaxValueBytes);

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

    /// <summary>Latches the error of a subcommand whose arguments do not fit.</summary>
    public bool FailSubcommand() => Fail(Errors.SubcommandSyntax(Echo(1), Row.Parent!.Name));

    /// <summary>False, with that error latched, where a subcommand that takes a range of arguments got more than its row can say.</summary>
    public bool HasAtMost(int arguments) => Args.Count <= arguments || FailSubcommand();

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

    /// <summary>The number of a database.</summary>
    public int DatabaseIndex(int argument)
    {
        long index = Int64(argument);
        if (index != (int)index) Fail(Errors.NotInt32);
        if (!Failed && (index < 0 || index >= Server.Config.Databases)) Fail(Errors.DbIndex);
        return (int)index;
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
            Hits++;
            return entry;
        }
        if (++Misses > Session.MissesTold || !OnWorker) Server.Notifications.Publish(NotifyFlags.KeyMiss, "keymiss", Args[argument], Session.Database);
        return entry;
    }

    /// <summary>Keys that were looked up in order to be read and were there: counted unless the command moves to a worker, where it looks again.</summary>
    internal int Hits { get; private set; }

    /// <summary>The same of keys that were not there.</summary>
    internal int Misses { get; private set; }

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

    /// <summary>Its reply is written, or its connection was ended.</summary>
    internal bool IsAnswered { get; set; }

    /// <summary>What the command changed is in the stream of effects already.</summary>
    internal void ForgetChanges() => (Changes, EffectReplaced) = (0, true);

    /// <summary>How many changes the command made; no change, no effect.</summary>
    public int Changes { get; private set; }

    /// <summary>Counts changes to data that no key event tells of.</summary>
    public void Changed(int count = 1) => Changes += count;

    /// <summary>Whether anybody wants effects: handlers that must build another form of themselves ask first.</summary>
    public readonly bool EffectsWanted => Server.Effects.Wanted;

    /// <summary>True once a handler gave its effect itself.</summary>
    internal bool EffectReplaced { get; private set; }

    /// <summary>
    /// Makes room for effects of so many bytes (<see cref="EffectBuffer.SizeOf"/>); false, with an error latched, where the
    /// unit would be too long. Asked before the first change by commands whose effects may be longer than their arguments: no
    /// change is left without its effect.
    /// </summary>
    public bool ReserveEffects(long bytes) =>
        !Server.Effects.Wanted || Lane.Effects.TryReserve(bytes) || Fail(Errors.TooManyEffects);

    /// <summary>
    /// The command's effect is not the command itself but what follows: a replay must depend on no clock and no chance. The caller adds exactly so
    /// many arguments to the buffer, the name included; null when nobody wants them. May be called several times: all parts are one unit.
    /// </summary>
    public EffectBuffer? ReplaceEffect(int arguments)
    {
        EffectReplaced = true;
        if (!Server.Effects.Wanted) return null;
        Lane.Effects.Begin(Session.Database, arguments);
        return Lane.Effects;
    }

    /// <summary>The same for a command on a key.</summary>
    public void ReplaceEffect(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> key)
    {
        if (ReplaceEffect(arguments: 2) is not { } effect) return;
        effect.Add(name);
        effect.Add(key);
    }

    /// <summary>The same with one more argument.</summary>
    public void ReplaceEffect(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> argument)
    {
        if (ReplaceEffect(arguments: 3) is not { } effect) return;
        effect.Add(name);
        effect.Add(key);
        effect.Add(argument);
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
