using RedisClone.Engine.Clients;
using RedisClone.Protocol;
using RedisClone.Storage;

namespace RedisClone.Engine.Shards;

/// <summary>Why a blocked client continues.</summary>
internal enum WakeReason
{
    None,
    Served,
    TimedOut,
    Unblocked,
    UnblockedWithError,
    Closed,
    Shutdown,

    /// <summary>
    /// The passing of time may have satisfied the condition. The command runs again and may wait for the rest of its time.
    /// </summary>
    Again,

    /// <summary>The server has become a replica.</summary>
    RoleChanged,
}

/// <summary>Whether a key that was just changed satisfies a waiter. The type was compared before.</summary>
internal delegate bool WaitTest(in Entry entry, Waiter waiter);

/// <summary>
/// A blocked client: the keys that it waits for, and the word that decides which event wakes it. The first event to claim it
/// (a push, its timeout, CLIENT UNBLOCK, its disconnect) decides the answer. Later events find it claimed and do nothing.
/// </summary>
internal sealed class Waiter : IDisposable
{
    private int _claimed;
    private Timer? _timer, _again;

    internal Waiter(Session session, ValueType wanted, ShardSet shards, WaitTest? test, Action<ReplyWriter> answer)
    {
        Session = session;
        Wanted = wanted;
        Shards = shards;
        Test = test;
        Answer = answer;
    }

    public Session Session { get; }

    /// <summary>The type of value that the client waits for.</summary>
    public ValueType Wanted { get; }

    /// <summary>
    /// All shards of the command: those of the keys that it waits for and of the keys that it will write to.
    /// </summary>
    public ShardSet Shards { get; }

    public WaitTest? Test { get; }

    /// <summary>
    /// Further keys that the command will write to. Clients that are blocked on those may be served in turn.
    /// </summary>
    internal List<DatabaseKey> Written { get; } = [];

    /// <summary>Writes the reply for a timeout.</summary>
    public Action<ReplyWriter> Answer { get; }

    /// <summary>
    /// Whether the client is also served, with an error, when its key is deleted or gets a value of another type.
    /// </summary>
    public bool ServedWithoutValue { get; init; }

    /// <summary>
    /// State of the command that <see cref="Test"/> compares with, such as the ID of a stream entry or a group.
    /// </summary>
    public object? State { get; init; }

    /// <summary>Whether the command changes data.</summary>
    public bool IsWrite { get; init; }

    /// <summary>The time of the timeout in Unix milliseconds; 0 for none.</summary>
    public long Deadline { get; init; }

    /// <summary>
    /// Whether the command has an effect outside of this server and must run to its end, even if its client is gone. Then only its
    /// work and the shutdown wake it.
    /// </summary>
    public bool MustFinish { get; init; }

    public WakeReason Reason { get; private set; }

    /// <summary>The keys at which the waiter is registered.</summary>
    internal List<(int Shard, DatabaseKey Key)> Keys { get; } = [];

    /// <summary>Whether the client waits for a key or will write to it.</summary>
    internal bool Changes(in DatabaseKey key)
    {
        foreach ((_, DatabaseKey waited) in Keys)
            if (DatabaseKeyComparer.Instance.Equals(waited, key)) return true;
        foreach (DatabaseKey written in Written)
            if (DatabaseKeyComparer.Instance.Equals(written, key)) return true;
        return false;
    }

    public bool IsClaimed => Volatile.Read(ref _claimed) != 0;

    /// <summary>True for exactly one caller. That caller owns the session until it resumes the connection.</summary>
    public bool TryClaim(WakeReason reason)
    {
        if (MustFinish && reason is not (WakeReason.Again or WakeReason.Shutdown)) return false;
        if (Interlocked.CompareExchange(ref _claimed, 1, 0) != 0) return false;
        Reason = reason;
        return true;
    }

    /// <summary>Claims the waiter and resumes the connection, which answers according to the reason.</summary>
    public bool Wake(WakeReason reason)
    {
        if (!TryClaim(reason)) return false;
        Session.Connection!.Resume();
        return true;
    }

    /// <summary>
    /// Starts the timeout. A timer may fire up to a millisecond early, so one millisecond is added: no client may see an
    /// early timeout.
    /// </summary>
    internal void StartTimer(long milliseconds) =>
        _timer = new Timer(static state => ((Waiter)state!).Wake(WakeReason.TimedOut), this, Math.Min(milliseconds + 1, uint.MaxValue - 2), Timeout.Infinite);

    /// <summary>Makes the command run again after a delay.</summary>
    internal void StartAgain(long milliseconds) =>
        _again = new Timer(static state => ((Waiter)state!).Wake(WakeReason.Again), this, Math.Min(milliseconds, uint.MaxValue - 2), Timeout.Infinite);

    public void Dispose()
    {
        _timer?.Dispose();
        _again?.Dispose();
    }
}
