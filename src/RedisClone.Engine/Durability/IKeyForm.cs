using RedisClone.Journal.Rdb;
using RedisClone.Storage;

namespace RedisClone.Engine.Durability;

/// <summary>The form in which a snapshot writes keys: RDB or commands. One thread at a time uses an instance.</summary>
internal interface IKeyForm
{
    /// <summary>Sets the target for the following calls.</summary>
    void Begin(IRdbTarget target);

    void Select(int database);

    /// <summary>Writes a whole key.</summary>
    void Key(in Entry entry);

    /// <summary>
    /// Writes a part of a large key; true after the last part. Each part may come from another thread, with another instance, so all that the
    /// next part needs is in <paramref name="place"/>.
    /// </summary>
    bool Part(in Entry entry, ref CapturePlace place);

    /// <summary>Ends the output since <see cref="Begin"/> and passes all of it to the target.</summary>
    void End();
}
