using Microsoft.Extensions.Logging;

namespace RedisClone.Engine.Durability;

/// <summary>
/// The commands of a journal that answered with an error. They change nothing, and the replay goes on, as in Redis: a script with
/// redis.set_repl(REPL_NONE) makes changes that the journal does not have, so a later command of any client may not fit the replayed data.
/// Errors of the configuration, and of commands without keys, end the replay. Thread-safe.
/// </summary>
internal sealed class ReplayErrors(ILogger log)
{
    private const long MostLogged = 10;

    private long _count;

    public long Count => Volatile.Read(ref _count);

    public void Add(string command, string error)
    {
        if (Interlocked.Increment(ref _count) <= MostLogged)
            log.LogWarning("The command '{Command}' of the journal answered {Error}. It is skipped", command, error);
    }
}
