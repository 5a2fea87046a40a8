namespace RedisClone.Compare.Load;

/// <summary>A load cannot be measured: the server replied with an error, closed a connection, or does not reply.</summary>
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
