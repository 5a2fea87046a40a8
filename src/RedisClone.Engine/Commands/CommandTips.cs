namespace RedisClone.Engine.Commands;

/// <summary>Tips of COMMAND INFO that occur in many rows.</summary>
internal static class CommandTips
{
    public static readonly string[] Nondeterministic = ["nondeterministic_output"];
    public static readonly string[] NondeterministicOrder = ["nondeterministic_output_order"];
    public static readonly string[] AllNodes = ["request_policy:all_nodes", "response_policy:all_succeeded"];
    public static readonly string[] AllShards = ["request_policy:all_shards", "response_policy:all_succeeded"];
    public static readonly string[] AllShardsOne = ["request_policy:all_shards", "response_policy:one_succeeded"];
    public static readonly string[] AllShardsAnd = ["request_policy:all_shards", "response_policy:agg_logical_and"];
    public static readonly string[] AllShardsMinimum = ["request_policy:all_shards", "response_policy:agg_min"];

    public static readonly string[] MultiShard = ["request_policy:multi_shard", "response_policy:all_succeeded"];
    public static readonly string[] MultiShardSum = ["request_policy:multi_shard", "response_policy:agg_sum"];

    /// <summary>Every node replies with its own result.</summary>
    public static readonly string[] EachShard = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];
}
