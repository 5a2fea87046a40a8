using RedisClone.Admin.History;
using RedisClone.Admin.Log;
using RedisClone.Engine;

namespace RedisClone.Server.Support;

/// <summary>The support bundle of this server: a file that a person can send to someone else. One is made at a time.</summary>
internal sealed class SupportBundle(ServerCore server, FigureHistory history, LogTail log)
{
    private int _isMaking;

    /// <summary>Makes a bundle, which takes some seconds. Returns null if another one is being made.</summary>
    public byte[]? Make()
    {
        if (Interlocked.Exchange(ref _isMaking, 1) != 0) return null;
        try
        {
            var mask = new BundleMask(server.Config);
            string state = server.Loading is null ? "" : " It loads its data.";
            return Bundle.Make($"What a running server reports about itself.{state}",
                [.. new ServerParts(server, history, log, mask).All, .. ProcessParts.Of(Environment.ProcessId, mask)]);
        }
        finally
        {
            Volatile.Write(ref _isMaking, 0);
        }
    }

    /// <summary>
    /// Makes a bundle of a process on this machine that is not asked, because it does not answer: what the kernel and the runtime say.
    /// </summary>
    public static byte[] OfProcess(int processId) =>
        Bundle.Make("What the kernel and the runtime say about a process. The server was not asked.", [.. ProcessParts.Of(processId, new BundleMask(null))]);
}
