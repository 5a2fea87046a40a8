using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Info;

/// <summary>The use of memory at one moment.</summary>
internal sealed class MemoryReading
{
    public MemoryReading(ServerCore server)
    {
        Usage = MemoryUsage.Read(server);
        server.Sampler.NoteMemory(Usage.Used);
        Peak = server.Sampler.PeakMemory;
        Resident = MemoryUsage.Resident;
        Interpreter = server.Scripts.InterpreterBytes;
        Functions = server.Scripts.Libraries.LuaBytes;
    }

    public MemoryUsage Usage { get; }

    public long Used => Usage.Used;

    public long Dataset => Usage.Used - Usage.Overhead;

    public long Peak { get; }

    public long Resident { get; }

    /// <summary>Bytes of the Lua interpreter, including <see cref="Functions"/>.</summary>
    public long Interpreter { get; }

    /// <summary>Bytes of the interpreter that functions use.</summary>
    public long Functions { get; }
}
