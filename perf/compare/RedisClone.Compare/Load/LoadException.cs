namespace RedisClone.Compare.Load;

/// <summary>A load that cannot be measured: the server answered an error, closed a connection, or does not answer.</summary>
public sealed class LoadException : Exception
{
    public LoadException()
    {
    }

    public LoadException(string message) : base(message)
    {
    }

    public LoadException(string message, Exception innerException) : base(message, innerException)
    {
    }
}
