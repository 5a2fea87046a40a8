using System.Runtime.CompilerServices;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Scripting;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Engine.Commands;

/// <summary>
/// One run of a command and everything that its handler uses: arguments, reply, keys, and the methods that report changes. A bad
/// argument is not an exception: the first one latches an error, the handler returns, and the error becomes the reply.
/// </summary>
internal ref partial struct CommandContext
{
    private readonly ServerCore _server;
    private readonly ulong _firstKeyHash;
    private readonly ref readonly ShardSet _held;

    /// <summary>
    /// The values come as parameters, and none by reference. Otherwise the compiler would build the context elsewhere and copy it.
    /// </summary>
    internal CommandContext(Session session, CommandRow row, Request request, ulong firstKeyHash, Lane lane, HeldShards held, long now, bool cannotMove)
    {
        _server = session.Server;
        Session = session;
        Row = row;
        Args = request;
        Reply = session.Reply;
        Lane = lane;
        _firstKeyHash = firstKeyHash;
        _held = ref held.Set;
        Now = now;
        CannotMove = cannotMove;
    }

    /// <summary>The parts of the server for commands on data.</summary>
    public readonly IDataServices Data => _server;

    /// <summary>The parts of the server for commands on clients, channels and transactions.</summary>
    public readonly IClientServices Clients => _server;

    /// <summary>The scripts and functions.</summary>
    public readonly ScriptEngine Scripts => _server.Scripts;

    public Session Session { get; }

    public CommandRow Row { get; }

    /// <summary>The flags of the command with these arguments and this client.</summary>
    internal readonly CommandFlags Flags => Row.FlagsFor(Args, Session);

    /// <summary>The arguments. Index 0 is the command's name; for a subcommand, index 1 is its name.</summary>
    public Request Args { get; }

    public ReplyWriter Reply { get; }

    /// <summary>Unix milliseconds, read once for each batch.</summary>
    public long Now { get; }

    internal Lane Lane { get; }

    /// <summary>The shards that are held for this command, or for the transaction or script that it is part of.</summary>
    internal readonly ref readonly ShardSet Held => ref _held;

    /// <summary>
    /// Whether the command runs to its end here: on a worker, or as a part of a transaction, a script or a replay. Otherwise it is
    /// on its connection's own thread, where no command may take long, and <see cref="MoveToWorker"/> moves it.
    /// </summary>
    public bool CannotMove { get; }

    /// <summary>The number of keys that an earlier run of this command reported as misses before it moved to a worker.</summary>
    internal int ReportedMisses { get; set; }

    /// <summary>The wait that an earlier run of this command began, or null. Its deadline and its state still apply.</summary>
    internal Waiter? Earlier { get; set; }

    /// <summary>Whether maxmemory was exceeded when the command, or the transaction that it is part of, began.</summary>
    internal bool LacksMemory { get; set; }

    /// <summary>
    /// The number of errors in the reply that the parts of this command counted: queued commands, or the commands of a script.
    /// </summary>
    internal int CountedErrors { get; set; }

    /// <summary>Whether an error of a part makes this command fail.</summary>
    internal bool FailsWithPart { get; set; }

    /// <summary>Set by <see cref="MoveToWorker"/>: the command has had no effect yet and runs again on a worker.</summary>
    public bool Moved { get; private set; }

    /// <summary>The client's waiter; null while the client does not wait.</summary>
    internal Waiter? Waiter { get; private set; }

    /// <summary>The error that the handler latched. It is the reply; the handler wrote no other.</summary>
    public string? Failure { get; private set; }

    public readonly bool Failed => Failure is not null;

    /// <summary>
    /// Whether the reply cannot reach the client, because the client is gone or the reply was too long. A read-only scan may
    /// then end early.
    /// </summary>
    public readonly bool IsAbandoned => Reply.Overflowed || Session.Connection is { IsClosed: true };

    /// <summary>
    /// The longest string that the command may make. A replay obeys only the fixed limit, because the configuration may have
    /// been different when the command was journalled.
    /// </summary>
    public readonly long LongestString =>
        Session.IsReplay ? Limits.MaxValueBytes : Math.Min(_server.Config.ProtoMaxBulkLen, Limits.MaxValueBytes);

    // ---- arguments

    /// <summary>Latches an error; the first one stays. It returns false, so that a check can return its result.</summary>
    public bool Fail(string error)
    {
        Failure ??= error;
        return false;
    }

    /// <summary>
    /// Returns false, with an error latched, if a command may not return this many elements. A client with an output limit would
    /// have exceeded it and is disconnected.
    /// </summary>
    public bool MayReply(long elements)
    {
        if (elements <= Limits.ReplyElements) return true;
        if (Session.Connection is not null && Reply.Limit < Limits.ReplyBytes) Reply.Overflow();
        return Fail(Errors.OutOfRange);
    }

    public bool FailSyntax() => Fail(Errors.Syntax);

    /// <summary>Latches the error of a subcommand with wrong arguments.</summary>
    public bool FailSubcommand() => Fail(Errors.SubcommandSyntax(Echo(1), Row.Parent!.Name));

    /// <summary>
    /// Returns false, with that error latched, if a subcommand got more arguments than it takes. A row has no maximum.
    /// </summary>
    public bool HasAtMost(int arguments) => Args.Count <= arguments || FailSubcommand();

    /// <summary>Whether an argument is this word in any letter case.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool Is(int index, ReadOnlySpan<byte> word) => Ascii.EqualsIgnoreCase(Args[index], word);

    /// <summary>A 64-bit integer argument. Any other text latches the error.</summary>
    public long Int64(int index, string error = Errors.NotInteger)
    {
        if (RedisNumber.TryParseInt64(Args[index], out long value)) return value;
        Fail(error);
        return 0;
    }

    /// <summary>An integer argument within bounds. Any other text latches <paramref name="error"/>.</summary>
    public long Int64(int index, long least, long most, string error)
    {
        if (RedisNumber.TryParseInt64(Args[index], out long value) && value >= least && value <= most) return value;
        Fail(error);
        return 0;
    }

    /// <summary>An integer argument whose negative must be representable too.</summary>
    public long NegatableInt64(int index)
    {
        long value = Int64(index);
        if (value == long.MinValue) Fail("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
        return value;
    }

    /// <summary>A database index.</summary>
    public int DatabaseIndex(int argument)
    {
        long index = Int64(argument);
        if (index != (int)index) Fail(Errors.NotInt32);
        if (!Failed && (index < 0 || index >= _server.Config.Databases)) Fail(Errors.DbIndex);
        return (int)index;
    }

    /// <summary>A timeout in milliseconds; 0 for none.</summary>
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
    /// Moves a command that turns out to be long to a worker. The handler calls it before its first effect and returns at once
    /// if it returns true.
    /// </summary>
    public bool MoveToWorker(long work)
    {
        if (CannotMove || work <= Limits.InlineWork) return false;
        Moved = true;
        return true;
    }

    /// <summary>Whether every shard is held.</summary>
    public readonly bool HoldsAllShards => _held.ContainsAll(_server.Shards.All);

    /// <summary>Set by <see cref="NeedsAllShards"/>: the command has had no effect yet and runs again with all shards.</summary>
    public bool Widens { get; private set; }

    /// <summary>
    /// Asks for all shards, for a command that turns out to need them. The handler calls it before its first effect and returns at
    /// once if it returns true.
    /// </summary>
    public bool NeedsAllShards() => Widens = !HoldsAllShards;

    public readonly bool AreInOneShard(int key, int other) => _server.Shards.Of(HashOf(key)) == _server.Shards.Of(HashOf(other));

    public readonly ulong HashOf(int argument) => argument == Row.FirstKey && argument != 0 ? _firstKeyHash : _server.Shards.HashOf(Args[argument]);

    public readonly Keyspace KeyspaceOf(ulong hash) => KeyspaceOf(hash, Session.Database);

    public readonly Keyspace KeyspaceOf(ulong hash, int database)
    {
        ShardStore store = _server.Shards.Of(hash).Store;
        store.Now = FieldTime;
        return store.Database(database);
    }

    /// <summary>The client's database in a held shard, for commands that scan all shards.</summary>
    public readonly Keyspace KeyspaceOf(Shard shard)
    {
        shard.Store.Now = FieldTime;
        return shard.Store.Database(Session.Database);
    }

    /// <summary>
    /// Looks up a key for reading. An expired key is removed first, a hit or miss is counted, and the key's access time is
    /// updated.
    /// </summary>
    public Entry FindForRead(int argument)
    {
        Entry entry = PeekForRead(argument);
        if (entry.Exists) Touch(entry);
        return entry;
    }

    /// <summary>The same without an update of the access time (EXISTS, TYPE, TTL …).</summary>
    public Entry PeekForRead(int argument)
    {
        Entry entry = Find(Args[argument], HashOf(argument), Session.Database);
        if (entry.Exists)
        {
            Hits++;
            return entry;
        }
        if (++Misses > ReportedMisses || !CannotMove) _server.Notifications.Publish(NotifyFlags.KeyMiss, "keymiss", Args[argument], Session.Database);
        return entry;
    }

    /// <summary>
    /// The number of keys that a lookup for reading found. It is not counted if the command moves to a worker, where the lookups
    /// are repeated.
    /// </summary>
    internal int Hits { get; private set; }

    /// <summary>The number of keys that a lookup for reading did not find.</summary>
    internal int Misses { get; private set; }

    /// <summary>Looks up a key for writing. An expired key is removed first.</summary>
    public Entry FindForWrite(int argument)
    {
        Entry entry = Find(Args[argument], HashOf(argument), Session.Database);
        if (entry.Exists) Touch(entry);
        return entry;
    }

    /// <summary>Looks up a key without counting or updating anything (OBJECT, DEBUG …).</summary>
    public Entry Peek(int argument) => Find(Args[argument], HashOf(argument), Session.Database);

    /// <summary>Looks up any key and removes it if it has expired. The command must hold the key's shard.</summary>
    public Entry Find(ReadOnlySpan<byte> key, ulong hash, int database)
    {
        Keyspace keyspace = KeyspaceOf(hash, database);
        Entry entry = keyspace.Find(key, hash);
        if (!entry.Exists) return NoteAbsent(entry, key, database);
        // A write may change the record in place, so a running snapshot must save it first.
        if (Row.IsWrite) keyspace.Preserve(entry);
        long expiry = entry.Expiry;
        if (expiry == 0 || !IsOver(expiry)) return entry;
        // During a pause the data must not change, and on a replica only its primary removes expired keys. The key is hidden now
        // and removed later.
        if (!Row.IsWrite && (_server.Pause.IsOn || _server.Role.IsReplica)) return keyspace.Absent(hash);
        _server.KeyEvents.Expire(entry, database, Lane);
        return NoteAbsent(keyspace.Find(key, hash), key, database);
    }

    /// <summary>
    /// Notes an absent key if keyspace events for new keys are on. The key's first event then reports it as new.
    /// </summary>
    private readonly Entry NoteAbsent(Entry absent, ReadOnlySpan<byte> key, int database)
    {
        if ((_server.Notifications.Enabled & NotifyFlags.New) != 0) Lane.NoteAbsent(database, key);
        return absent;
    }

    /// <summary>Latches WRONGTYPE if the key holds another type.</summary>
    public bool Expect(in Entry entry, ValueType type) => entry.Type == type || Fail(Errors.WrongType);

    /// <summary>
    /// Whether a time has come at which a key or a field expires. While data is loading, and for the stream of a primary, none
    /// has.
    /// </summary>
    public readonly bool IsOver(long expiry) => expiry <= Now && Expires;

    /// <summary>
    /// The time at which the fields of hashes are looked at. A field that has expired here may be one whose expiry the journal or the
    /// primary changes later: whether a field has expired, only its removal in the stream says.
    /// </summary>
    private readonly long FieldTime => Expires ? Now : long.MinValue;

    private readonly bool Expires => _server.ExpiryEnabled && !Session.IsPrimary;

    /// <summary>
    /// Whether this command removes expired fields that it finds. As with keys, a command that only reads removes none on a replica, where
    /// the primary does it, nor during a pause. A write on a replica removes them, so that its effects fit the fields that it has found.
    /// </summary>
    public readonly bool RemovesExpired => Expires && (Row.IsWrite || !_server.Pause.IsOn && !_server.Role.IsReplica);

    /// <summary>
    /// Removes an expired key that a walk has found. The removal is a unit of its own and not a part of the walk, unless the
    /// walk is part of a transaction or a script.
    /// </summary>
    public readonly void ExpireFound(in Entry entry, ulong hash)
    {
        // Data must not change during a pause, nor on a replica.
        if (_server.Pause.IsOn || _server.Role.IsReplica) return;
        _server.KeyEvents.Expire(entry, Session.Database, Lane);
        if (Session.InTransaction) return;
        _server.Executor.PlaceOwnUnit(_server.Shards.Of(hash), Lane);
        Lane.BeginUnit();
    }

    private readonly void Touch(in Entry entry)
    {
        if (!Session.NoTouch) _server.AccessClock.Touch(entry);
    }

    // ---- effects

    /// <summary>
    /// Reports that the key at an argument was changed. This notifies watchers, client-side caches and subscribers of keyspace
    /// events, and makes the command an effect for the journal: the command as sent, unless <see cref="ReplaceEffect(int)"/>
    /// replaces it.
    /// </summary>
    public void Modified(int argument, NotifyFlags kind, string keyEvent) =>
        Modified(Args[argument], HashOf(argument), Session.Database, kind, keyEvent);

    public void Modified(ReadOnlySpan<byte> key, ulong hash, int database, NotifyFlags kind, string keyEvent)
    {
        Changes++;
        _server.KeyEvents.Modified(_server.Shards.Of(hash), key, database, kind, keyEvent, Session, Lane);
    }

    /// <summary>
    /// Reports another key of the same change, such as the target of a move, without counting a second change.
    /// </summary>
    public readonly void AlsoModified(int argument, NotifyFlags kind, string keyEvent) =>
        _server.KeyEvents.Modified(_server.Shards.Of(HashOf(argument)), Args[argument], Session.Database, kind, keyEvent, Session, Lane);

    /// <summary>Publishes a further event of the same change, such as expire after set, without a new effect.</summary>
    public readonly void Notify(int argument, NotifyFlags kind, string keyEvent) =>
        _server.KeyEvents.Notify(Args[argument], Session.Database, kind, keyEvent, Lane);

    /// <summary>
    /// Publishes the event for a new key before the events of its sources. For a key that is created as a whole, its own first
    /// event would come too late.
    /// </summary>
    public readonly void NotifyNew(ReadOnlySpan<byte> key, int database)
    {
        Lane.TakeAbsent(database, key);
        _server.Notifications.Publish(NotifyFlags.New, "new", key, database);
    }

    /// <summary>Removes an existing key and publishes the event.</summary>
    public void Remove(in Entry entry, int argument, string keyEvent = "del")
    {
        entry.Keyspace.Remove(entry);
        Modified(argument, NotifyFlags.Generic, keyEvent);
    }

    /// <summary>Whether the reply is written or the connection was ended.</summary>
    internal bool IsAnswered { get; set; }

    /// <summary>Discards the recorded changes, because they are already in the stream of effects.</summary>
    internal void ForgetChanges() => (Changes, EffectReplaced) = (0, true);

    /// <summary>The number of changes that the command made. Without a change, the command has no effect.</summary>
    public int Changes { get; private set; }

    /// <summary>Counts changes that no keyspace event reports.</summary>
    public void Changed(int count = 1) => Changes += count;

    /// <summary>Whether effects are recorded. A handler checks this before it builds a replacement effect.</summary>
    public readonly bool EffectsWanted => _server.Effects.Wanted;

    /// <summary>Whether the handler gave its effect itself.</summary>
    internal bool EffectReplaced { get; private set; }

    /// <summary>
    /// Whether the effects so far tell all changes that the command has made. If it fails now, its keys need no image. A handler sets it
    /// whose keys may be so large that there is no memory for an image.
    /// </summary>
    public bool IsTold { get; set; }

    /// <summary>
    /// Reserves room for effects of this many bytes (<see cref="EffectBuffer.SizeOf"/>). Returns false, with an error latched,
    /// if the unit would be too long. A command whose effects may be longer than its arguments calls it before its first change,
    /// so that no change is left without its effect.
    /// </summary>
    public bool ReserveEffects(long bytes) =>
        !_server.Effects.Wanted || Lane.Effects.TryReserve(bytes) || Fail(Errors.TooManyEffects);

    /// <summary>
    /// Replaces the effect of the command, because a replay must not depend on a clock or a random number. The caller adds
    /// exactly this many arguments to the buffer, including the name. Returns null if effects are not recorded. Several calls
    /// make one unit.
    /// </summary>
    public EffectBuffer? ReplaceEffect(int arguments)
    {
        EffectReplaced = true;
        if (!_server.Effects.Wanted) return null;
        Lane.Effects.Begin(Session.Database, arguments);
        return Lane.Effects;
    }

    /// <summary>Replaces the effect by a command on a key.</summary>
    public void ReplaceEffect(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> key)
    {
        if (ReplaceEffect(arguments: 2) is not { } effect) return;
        effect.Add(name);
        effect.Add(key);
    }

    /// <summary>Replaces the effect by a command on a key with one more argument.</summary>
    public void ReplaceEffect(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> argument)
    {
        if (ReplaceEffect(arguments: 3) is not { } effect) return;
        effect.Add(name);
        effect.Add(key);
        effect.Add(argument);
    }

    /// <summary>Replaces the effect by the removal of the key.</summary>
    public void ReplaceWithRemoval(int keyArgument) => ReplaceEffect(_server.Config.LazyFreeServerDel ? "UNLINK"u8 : "DEL"u8, Args[keyArgument]);

    /// <summary>Replaces the effect by PEXPIREAT, so that a replay does not compute a relative time again.</summary>
    public void ReplaceWithExpireAt(int keyArgument, long at)
    {
        if (ReplaceEffect(arguments: 3) is not { } effect) return;
        effect.Add("PEXPIREAT"u8);
        effect.Add(Args[keyArgument]);
        effect.Add(at);
    }
}
