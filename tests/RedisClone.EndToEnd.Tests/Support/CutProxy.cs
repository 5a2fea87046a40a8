using System.Net;
using System.Net.Sockets;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>Forwards connections on loopback to a server, and cuts them when a test wants that.</summary>
internal sealed class CutProxy : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly List<TcpClient> _open = [];
    private readonly int _target;
    private volatile bool _ended;
    private long _cutAt = long.MaxValue;
    private long _forwarded;
    private int _cuts;

    public CutProxy(int target)
    {
        _target = target;
        _listener.Start();
        _ = AcceptAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Whether new connections are closed at once.</summary>
    public bool Refuses { get; set; }

    /// <summary>How many cuts there were while a connection was open.</summary>
    public int Cuts => Volatile.Read(ref _cuts);

    /// <summary>Cuts all connections.</summary>
    public void Cut()
    {
        lock (_open)
        {
            if (_open.Exists(static client => client.Connected)) Interlocked.Increment(ref _cuts);
            foreach (TcpClient client in _open) client.Dispose();
            _open.Clear();
        }
    }

    /// <summary>Cuts all connections after the server has sent this many further bytes.</summary>
    public void CutAfter(long bytes) => Volatile.Write(ref _cutAt, Volatile.Read(ref _forwarded) + bytes);

    public void Dispose()
    {
        _ended = true;
        _listener.Stop();
        Cut();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (!_ended)
            {
                TcpClient near = await _listener.AcceptTcpClientAsync();
                if (Refuses)
                {
                    near.Dispose();
                    continue;
                }
                var far = new TcpClient();
                await far.ConnectAsync(IPAddress.Loopback, _target);
                lock (_open) _open.AddRange([near, far]);
                _ = PumpAsync(near, far, counts: false);
                _ = PumpAsync(far, near, counts: true);
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The test ends, or the server is gone. A replica tries again through another connection.
            if (!_ended) _ = AcceptAsync();
        }
    }

    private async Task PumpAsync(TcpClient from, TcpClient to, bool counts)
    {
        try
        {
            byte[] buffer = new byte[16 * 1024];
            for (int read; (read = await from.GetStream().ReadAsync(buffer)) > 0;)
            {
                long excess = counts ? Interlocked.Add(ref _forwarded, read) - Volatile.Read(ref _cutAt) : -1;
                await to.GetStream().WriteAsync(buffer.AsMemory(0, read - (int)Math.Clamp(excess, 0, read)));
                if (excess < 0) continue;
                Volatile.Write(ref _cutAt, long.MaxValue);
                Cut();
                return;
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
        }
        from.Dispose();
        to.Dispose();
    }
}
