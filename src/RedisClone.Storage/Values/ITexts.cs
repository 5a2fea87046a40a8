namespace RedisClone.Storage.Values;

/// <summary>Texts by index.</summary>
public interface ITexts
{
    ReadOnlySpan<byte> this[int index] { get; }
}
