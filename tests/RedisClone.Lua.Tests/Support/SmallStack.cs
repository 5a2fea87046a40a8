namespace RedisClone.Lua.Tests;

/// <summary>Runs code on a stack of the size of the smallest thread of the server.</summary>
internal static class SmallStack
{
    private const int StackBytes = 1536 * 1024;

    /// <summary>Returns the exception that the code threw, or null.</summary>
    public static Exception? Run(Action code)
    {
        Exception? failure = null;
        var thread = new Thread(() =>
        {
            try
            {
                code();
            }
            catch (Exception e)
            {
                failure = e;
            }
        }, StackBytes);
        thread.Start();
        thread.Join();
        return failure;
    }
}
