namespace RedisClone.Protocol;

/// <summary>The place in the replies where a command began; see <see cref="ReplyWriter.Mark"/>.</summary>
public readonly record struct ReplyMark
{
    internal ReplyMark(int sequence) => Sequence = sequence;

    internal int Sequence { get; }
}

/// <summary>An aggregate whose length is not known yet; see <see cref="ReplyWriter.BeginDeferred"/>.</summary>
public readonly record struct DeferredReply
{
    internal DeferredReply(int hole) => Hole = hole;

    internal int Hole { get; }
}
