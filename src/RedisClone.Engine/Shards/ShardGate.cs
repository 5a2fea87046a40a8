using System.Runtime.InteropServices;

namespace RedisClone.Engine.Shards;

/// <summary>
/// One word that holds all shards at once. While the gate is closed, no thread can enter a shard. Only threads that take all
/// shards write the word, so other threads read it from their own caches.
/// </summary>
internal sealed class ShardGate
{
    private Padded _state;

    public bool IsClosed => Volatile.Read(ref _state.Closed) != 0;

    public bool TryClose() => Interlocked.CompareExchange(ref _state.Closed, 1, 0) == 0;

    public void Open() => Interlocked.Exchange(ref _state.Closed, 0);

    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct Padded
    {
        [FieldOffset(64)] public int Closed;
    }
}
