using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace RedisClone.Engine.Failures;

/// <summary>
/// Ends the process deliberately after an error that may have damaged data in memory, or that stops an indispensable thread. A
/// restart recovers all acknowledged writes; continuing could not guarantee that.
/// </summary>
internal static class Fatal
{
    /// <summary>
    /// Ends a process that the server owns, with a last line in its log. It must not allocate, take a lock or throw. Null in an
    /// embedding process.
    /// </summary>
    public static Action<string, Exception?, Exception?>? EndProcess { get; set; }

    /// <summary>Set by tests: called instead of ending the process. <see cref="End"/> then throws.</summary>
    internal static Action<string, Exception?>? Instead { get; set; }

    /// <summary>
    /// Ends the process. No handler or finalizer runs. The method may be called on any thread and with shards held. In an
    /// embedding process, it calls <see cref="Environment.FailFast(string, Exception)"/>.
    /// </summary>
    /// <param name="why">The reason.</param>
    /// <param name="cause">The exception that caused the end.</param>
    /// <param name="handling">A second exception, thrown while <paramref name="cause"/> was handled.</param>
    [DoesNotReturn]
    public static void End(string why, Exception? cause = null, Exception? handling = null)
    {
        if (Instead is { } instead)
        {
            instead(why, cause);
            throw new UnreachableException(why);
        }
        EndProcess?.Invoke(why, cause, handling);
        Environment.FailFast(why, cause);
    }
}
