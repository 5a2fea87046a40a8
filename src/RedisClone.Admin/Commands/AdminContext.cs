using RedisClone.Engine;
using RedisClone.Engine.Commands;

namespace RedisClone.Admin.Commands;

/// <summary>Gives the commands that manage the server access to all its parts.</summary>
internal static class AdminContext
{
    extension(in CommandContext c)
    {
        public ServerCore Server => c.Session.Server;
    }
}
