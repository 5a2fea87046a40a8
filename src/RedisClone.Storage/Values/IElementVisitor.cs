namespace RedisClone.Storage.Values;

/// <summary>Receives elements one by one. It must not change the collection.</summary>
public interface IElementVisitor
{
    void Visit(scoped Element element);
}
