using RedisClone.Protocol;
using RedisClone.Server.Net;
using RedisClone.Storage;

namespace RedisClone.Server.Shards;

/// <summary>Why a blocked client goes on.</summary>
internal enum WakeReason
{
    None,
    Served,
    TimedOut,
    Unblocked,
    UnblockedWithError,
    Closed,

    /// <summary>Time alone may have brought what it waits for: the command runs again, and may wait for the rest of its time.</summary>
    Again,
}

/// <summary>Whether a key that was just changed satisfies a waiter; the type was compared already.</summary>
internal delegate bool WaitTest(in Entry entry, Waiter waiter);

/// <summary>
/// A blocked client: the keys that it waits for, and the one word that decides who wakes it. Whoever claims it first (a push, its
/// timeout, CLIENT UNBLOCK, its own disconnect) answers it; the others find it claimed and pass on.
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

    /// <summary>The type of value that serves it.</summary>
    public ValueType Wanted { get; }

    /// <summary>All shards of its command: those of the keys that it waits for, and those of keys that it will write to.</summary>
    public ShardSet Shards { get; }

    public WaitTest? Test { get; }

    /// <summary>Keys that its command will write to besides: whoever waits for those may be woken in turn.</summary>
    internal List<DatabaseKey> Written { get; } = [];

    /// <summary>What it is answered when its time is over.</summary>
    public Action<ReplyWriter> Answer { get; }

    /// <summary>Whether it is served, by an error, when its key is gone or holds something else.</summary>
    public bool ServedWithoutValue { get; init; }

    /// <summary>What a test compares with (an ID of a stream, a group); the command's own.</summary>
    public object? State { get; init; }

    /// <summary>When its time is over, in Unix milliseconds; 0 for never.</summary>
    public long Deadline { get; init; }

    public WakeReason Reason { get; private set; }

    /// <summary>The keys it is registered at.</summary>
    internal List<(int Shard, DatabaseKey Key)> Keys { get; } = [];

    public bool IsClaimed => Volatile.Read(ref _claimed) != 0;

    /// <summary>True for exactly one caller, which then owns the session until it lets the connection go on.</summary>
    public bool TryClaim(WakeReason reason)
    {
        if (Interlocked.CompareExchange(ref _claimed, 1, 0) != 0) return false;
        Reason = reason;
        return true;
    }

    /// <summary>Claims and lets the connection go on, which then answers by the reason.</summary>
    public bool Wake(WakeReason reason)
    {
        if (!TryClaim(reason)) return false;
        Session.Connection!.Resume();
        return true;
    }

    /// <summary>A timer may fire within the last millisecond of its time, but nobody is told too early that the time is over.</summary>
    internal void StartTimer(long milliseconds) =>
        _timer = new Timer(static state => ((Waiter)state!).Wake(WakeReason.TimedOut), this, Math.Min(milliseconds + 1, uint.MaxValue - 2), Timeout.Infinite);

    /// <summary>Lets the command run again after a time.</summary>
    internal void StartAgain(long milliseconds) =>
        _again = new Timer(static state => ((Waiter)state!).Wake(WakeReason.Again), this, Math.Min(milliseconds, uint.MaxValue - 2), Timeout.Infinite);

    public void Dispose()
    {
        _timer?.Dispose();
        _again?.Dispose();
    }
}
