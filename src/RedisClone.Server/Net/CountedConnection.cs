namespace RedisClone.Server.Net;

/// <summary>The feature of a connection whose memory is counted already.</summary>
internal sealed class CountedConnection;
