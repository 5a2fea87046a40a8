using RedisClone.Journal.Rdb;
using RedisClone.Storage;

namespace RedisClone.Server.Durability;

/// <summary>How a snapshot writes keys down: as an RDB, or as commands. One thread uses it at a time.</summary>
internal interface IKeyForm
{
    /// <summary>Where what follows is written.</summary>
    void Begin(IRdbTarget target);

    void Select(int database);

    /// <summary>A whole key.</summary>
    void Key(in Entry entry);

    /// <summary>A part of a large one; true when it was the last.</summary>
    bool Part(in Entry entry, ref CapturePlace place);

    /// <summary>Ends what <see cref="Begin"/> began: all of it is handed to the target.</summary>
    void End();
}
