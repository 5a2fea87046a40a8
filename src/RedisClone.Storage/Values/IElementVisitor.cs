namespace RedisClone.Storage;

/// <summary>Is told of elements one by one. It must not change the collection.</summary>
public interface IElementVisitor
{
    void Visit(scoped Element element);
}
