using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Replication.Following;

/// <summary>The link whose stream a <see cref="StreamApplier"/> applies: to a primary, or to a node from which slots are imported.</summary>
internal interface IStreamOwner
{
    /// <summary>Whether the stream still applies to this server. The caller holds every shard.</summary>
    bool IsCurrent { get; }

    /// <summary>Returns null, or the reason why a command in the stream is not applied. The stream then ends before the unit of the command.</summary>
    string? Refuse(CommandRow row, in Request request, int database);

    /// <summary>Notes that bytes of the stream are applied, after which it is in a database. The caller holds every shard.</summary>
    void Applied(ReadOnlySpan<byte> bytes, int database);

    /// <summary>Notes that a transaction of the stream was applied in part. The caller holds every shard.</summary>
    void LeftPart();

    /// <summary>Answers the question of the other side for the offset that is applied. False ends the stream.</summary>
    ValueTask<bool> AnswerAsync();
}
