using System.Net;
using System.Net.Sockets;

namespace RedisClone.Server.Net.Listening;

/// <summary>Makes a socket that is bound and does not listen yet, for either transport.</summary>
internal static class ListenSocket
{
    public static Socket CreateBound(EndPoint endPoint, UnixFileMode? unixMode)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, endPoint is UnixDomainSocketEndPoint ? ProtocolType.Unspecified : ProtocolType.Tcp);
        try
        {
            // No ReuseAddress: .NET binds past old connections anyway, and the option would let a second server share the port.
            // "*" and "::*" are two addresses, each with a socket of its own.
            if (endPoint.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            string file = FileOf(endPoint);
            if (file.Length > 0) RemoveStale(file, endPoint);
            socket.Bind(endPoint);
            // Until it listens a connect is refused, so there is no moment at which the umask's mode lets anybody in.
            if (file.Length > 0 && unixMode is { } mode && !OperatingSystem.IsWindows()) File.SetUnixFileMode(file, mode);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>A socket file that nobody answers on was left by a process that died; it would be in the way for ever.</summary>
    private static void RemoveStale(string file, EndPoint endPoint)
    {
        if (!File.Exists(file)) return;
        using var probe = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            probe.Connect(endPoint);
        }
        catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionRefused)
        {
            File.Delete(file);
        }
        catch (SocketException)
        {
            // Something else is there, and binding will say so.
        }
    }

    /// <summary>Abstract names, shown with a leading @, live in no file system.</summary>
    private static string FileOf(EndPoint endPoint) =>
        endPoint is UnixDomainSocketEndPoint && endPoint.ToString() is { Length: > 0 } path && path[0] != '@' ? path : "";
}
