using System.Buffers;
using Microsoft.AspNetCore.Connections;
using RedisClone.Memory;

namespace RedisClone.Server.Net.Listening;

/// <summary>Gives Kestrel the pool of the process instead of one that keeps free blocks when memory is short.</summary>
internal sealed class BlockPools : IMemoryPoolFactory<byte>
{
    public MemoryPool<byte> Create(MemoryPoolOptions? options = null) => BlockPool.OfProcess;
}
