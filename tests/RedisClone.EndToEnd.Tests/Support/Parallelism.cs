using RedisClone.EndToEnd.Tests.Support;

// Four test classes run at a time. They start servers and mostly wait for them, and must fit on two cores.
[assembly: CollectionBehavior(MaxParallelThreads = 4)]
[assembly: TestCollectionOrderer($"RedisClone.EndToEnd.Tests.Support.{nameof(SlowestFirst)}", "RedisClone.EndToEnd.Tests")]
