using RedisClone.Engine;
using RedisClone.Engine.Replication;
using RedisClone.Server.Tests.Clients;
using RedisClone.Server.Tests.Embedding;

namespace RedisClone.Server.Tests.Replication;

/// <summary>A replica leaves without an allocation, because it may leave when memory is exhausted.</summary>
public sealed class LeavingReplicaTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-leaving-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task RemovingAReplicaAllocatesNothing()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto, config => config.Dir = _folder);
        using TestClient admin = server.Connect();
        // The first round is the warm-up.
        for (int round = 0; round < 2; round++)
        {
            using TestClient one = server.Connect(), two = server.Connect();
            one.Send("PSYNC", "?", "-1");
            two.Send("PSYNC", "?", "-1");
            await admin.UntilAsync("INFO replication", static info => info.Split("state=online").Length == 3);
            foreach (Replica replica in server.Core.Replicas.All.ToArray())
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                server.Core.Replicas.Remove(replica);
                long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
                if (round > 0) Assert.Equal(0, allocated);
            }
            Assert.Equal(0, server.Core.Replicas.Count);
            Assert.False(server.Core.Replicas.Stream.HasFollowers);
            // The stream goes on for a replica that comes back.
            Assert.True(server.Core.Replicas.Stream.IsOpen);
            Assert.True(server.Core.Effects.Wanted);
            Assert.Equal("OK", admin.Run("SET key value"));
        }
    }

    [Fact]
    public void AReaderOfASharedListSeesTheOthersWhileOneIsRemoved()
    {
        var list = new SharedList<string> { "a", "b", "d" };
        list.Insert("c", 2);
        Assert.Equal(["a", "b", "c", "d"], list);
        var seen = new List<string>();
        foreach (string item in list)
        {
            seen.Add(item);
            if (item == "a") list.Remove("b");
        }
        Assert.Equal(["a", "c", "d"], seen);
        list.Add("e");
        list.Insert("x", 0);
        list.Remove("none");
        Assert.Equal(["x", "a", "c", "d", "e"], list);
        Assert.Equal(5, list.Count);
        Assert.True(list.Contains("c"));
        foreach (string item in list.ToArray()) list.Remove(item);
        Assert.Empty(list);
        list.Add("again");
        list.Clear();
        Assert.Equal(0, list.Count);
    }
}
