namespace RedisClone.Engine.Replication;

/// <summary>A place in the stream of a history: the data of a snapshot, or of a whole journal, is what the stream up to it made.</summary>
/// <param name="History">The name of the history.</param>
/// <param name="Offset">The offset that is reached.</param>
/// <param name="Database">The database that the stream is in there.</param>
internal sealed record StreamPosition(string History, long Offset, int Database);
