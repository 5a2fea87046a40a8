using System.Net;
using System.Net.Sockets;
using System.Text;
using RedisClone.Tests;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// The network between the nodes of a cluster: each node announces the port of a proxy for its bus. A link may be cut, or it may
/// hold back what one node says to another one, as a network does that loses packets in one direction.
/// </summary>
internal sealed class BusFaults : IDisposable
{
    private readonly List<TcpListener> _proxies = [];
    private readonly List<Link> _links = [];
    private volatile Func<string, string, bool> _isCut = Never, _isHeld = Never;
    private volatile bool _ended;

    /// <summary>Starts a proxy for the bus of a node, and returns its port.</summary>
    public int Proxy(int busPort)
    {
        var proxy = new TcpListener(IPAddress.Loopback, Ports.Free());
        proxy.Start();
        _proxies.Add(proxy);
        _ = AcceptAsync(proxy, new Target(busPort));
        return ((IPEndPoint)proxy.LocalEndpoint).Port;
    }

    /// <summary>Closes the links between nodes, and each new one. The function gets the names of two nodes, in both orders.</summary>
    public void Cut(Func<string, string, bool> isCut)
    {
        _isCut = isCut;
        Link[] links;
        lock (_links) links = [.. _links];
        foreach (Link link in links)
            if (IsCut(link)) link.Close();
    }

    /// <summary>Holds back what a node says to another one. The function gets the names of both.</summary>
    public void Hold(Func<string, string, bool> isHeld) => _isHeld = isHeld;

    /// <summary>Ends all faults. What was held back arrives late.</summary>
    public void Heal() => (_isCut, _isHeld) = (Never, Never);

    public void Dispose()
    {
        _ended = true;
        foreach (TcpListener proxy in _proxies) proxy.Stop();
        lock (_links)
            foreach (Link link in _links) link.Close();
    }

    private static bool Never(string from, string to) => false;

    private bool IsCut(Link link) => link.Caller is { } caller && link.Called is { } called && (_isCut(caller, called) || _isCut(called, caller));

    private async Task AcceptAsync(TcpListener proxy, Target target)
    {
        while (!_ended)
        {
            try
            {
                TcpClient near = await proxy.AcceptTcpClientAsync();
                _ = ServeAsync(near, target);
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException or InvalidOperationException)
            {
                // The test ends.
            }
        }
    }

    private async Task ServeAsync(TcpClient near, Target target)
    {
        var link = new Link(near, new TcpClient(), target);
        lock (_links) _links.Add(link);
        try
        {
            await link.Far.ConnectAsync(IPAddress.Loopback, target.Port);
            await Task.WhenAny(PumpAsync(link, fromCaller: true), PumpAsync(link, fromCaller: false));
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The node is gone.
        }
        link.Close();
        lock (_links) _links.Remove(link);
    }

    private async Task PumpAsync(Link link, bool fromCaller)
    {
        (TcpClient from, TcpClient to) = fromCaller ? (link.Near, link.Far) : (link.Far, link.Near);
        try
        {
            byte[] buffer = new byte[64 << 10];
            for (int read; (read = await from.GetStream().ReadAsync(buffer)) > 0;)
            {
                link.Note(buffer.AsSpan(0, read), fromCaller);
                if (IsCut(link)) return;
                while (IsHeld(link, fromCaller)) await Task.Delay(10);
                await to.GetStream().WriteAsync(buffer.AsMemory(0, read));
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // One of the two ends has closed the link.
        }
    }

    private bool IsHeld(Link link, bool fromCaller) => !_ended && link.Caller is { } caller && link.Called is { } called
        && (fromCaller ? _isHeld(caller, called) : _isHeld(called, caller));

    /// <summary>The node behind a proxy. Its first answer names it.</summary>
    private sealed class Target(int port)
    {
        public int Port => port;

        public string? Name { get; set; }
    }

    /// <summary>A connection of one node to another one. The first message names the node that connects.</summary>
    private sealed class Link(TcpClient near, TcpClient far, Target target)
    {
        private const int NameAt = 40, NameLength = 40;

        public TcpClient Near => near;

        public TcpClient Far => far;

        public string? Caller { get; private set; }

        public string? Called => target.Name;

        public void Note(ReadOnlySpan<byte> message, bool fromCaller)
        {
            if (message.Length < NameAt + NameLength || (fromCaller ? Caller : Called) is not null) return;
            string name = Encoding.ASCII.GetString(message.Slice(NameAt, NameLength));
            if (fromCaller) Caller = name;
            else target.Name = name;
        }

        public void Close()
        {
            near.Dispose();
            far.Dispose();
        }
    }
}
