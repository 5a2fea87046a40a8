namespace RedisClone.Server.Tests.Clients;

/// <summary>Runs blocking clients on threads of their own, so that the pool stays free for the server.</summary>
internal static class OwnThread
{
    public static Task Run(Action work) => Task.Factory.StartNew(work, TaskCreationOptions.LongRunning);

    public static Task<T> Run<T>(Func<T> work) => Task.Factory.StartNew(work, TaskCreationOptions.LongRunning);
}
