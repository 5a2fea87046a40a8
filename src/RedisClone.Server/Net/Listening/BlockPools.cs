using System.Buffers;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using RedisClone.Memory;

namespace RedisClone.Server.Net.Listening;

/// <summary>
/// Gives Kestrel the pool of the process instead of one that keeps free blocks when memory is short: to its sockets as a factory, and to its
/// TLS as a feature of a connection of an event loop.
/// </summary>
internal sealed class BlockPools : IMemoryPoolFactory<byte>, IMemoryPoolFeature
{
    public static readonly BlockPools OfTls = new();

    public MemoryPool<byte> MemoryPool => BlockPool.OfProcess;

    public MemoryPool<byte> Create(MemoryPoolOptions? options = null) => BlockPool.OfProcess;
}
