namespace RedisClone.Protocol;

/// <summary>The position in the replies where a command began. See <see cref="ReplyWriter.Mark"/>.</summary>
public readonly record struct ReplyMark
{
    internal ReplyMark(int sequence) => Sequence = sequence;

    internal int Sequence { get; }
}

/// <summary>An aggregate whose length is not known yet. See <see cref="ReplyWriter.BeginDeferred"/>.</summary>
public readonly record struct DeferredReply
{
    internal DeferredReply(int hole) => Hole = hole;

    internal int Hole { get; }
}
