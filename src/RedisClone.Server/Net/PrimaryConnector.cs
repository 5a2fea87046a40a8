using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using RedisClone.Configuration;
using RedisClone.Engine.Replication.Following;
using RedisClone.Server.Net.Tls;
using RedisClone.Transport.Sockets;

namespace RedisClone.Server.Net;

/// <summary>Connects this server to another one, by TCP or TLS: as a replica to its primary, or to the target of MIGRATE.</summary>
internal sealed class PrimaryConnector(ServerConfig config) : IPrimaryConnector
{
    public async ValueTask<IPrimaryConnection> ConnectAsync(string host, int port, bool encrypts, CancellationToken end)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            TcpKeepAlive.Apply(socket, config.TcpKeepAlive);
            if (config.BindSourceAddress.Length > 0) socket.Bind(new IPEndPoint(SourceAddress(), 0));
            await socket.ConnectAsync(host, port, end);
            Stream stream = new NetworkStream(socket, ownsSocket: true);
            if (encrypts) stream = await EncryptAsync(stream, host, end);
            return new Connection(socket, stream);
        }
        catch (Exception e)
        {
            socket.Dispose();
            string reason = $"Error condition on socket for SYNC: {e.Message}";
            if (e is SocketException { SocketErrorCode: SocketError.ConnectionRefused or SocketError.ConnectionReset or SocketError.HostUnreachable })
                throw new RefusedConnectionException(reason, e);
            // A name that cannot be one, such as an empty or a very long one, is an argument error.
            if (e is SocketException or AuthenticationException or ArgumentException) throw new IOException(reason, e);
            throw;
        }
    }

    private IPAddress SourceAddress() => IPAddress.TryParse(config.BindSourceAddress, out IPAddress? address)
        ? address.MapToIPv6()
        : throw new IOException($"bind-source-addr {config.BindSourceAddress} is no IP address");

    private async Task<SslStream> EncryptAsync(Stream stream, string host, CancellationToken end)
    {
        if (TlsFiles.Authorities(config, out string problem) is not { } authorities) throw new IOException(problem);
        if (TlsFiles.Protocols(config, out problem) is not { } protocols) throw new IOException(problem);
        SslStreamCertificateContext? certificate = config.TlsCertFile.Length == 0 ? null : TlsFiles.Certificate(config, out problem);
        if (problem.Length > 0) throw new IOException(problem);
        var encrypted = new SslStream(stream);
        await encrypted.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
        {
            TargetHost = host,
            EnabledSslProtocols = protocols,
            ClientCertificateContext = certificate,
            CertificateChainPolicy = TlsServer.PolicyOf(authorities),
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            // As with Redis, the authority vouches for a server, whatever its name is.
            RemoteCertificateValidationCallback = static (_, shown, _, errors) =>
                shown is not null && (errors & ~SslPolicyErrors.RemoteCertificateNameMismatch) == SslPolicyErrors.None,
        }, end);
        return encrypted;
    }

    private sealed class Connection(Socket socket, Stream stream) : IPrimaryConnection
    {
        public Stream Stream => stream;

        public string PeerName { get; } = ClientAddress.Text(socket.RemoteEndPoint, "");

        public string LocalName { get; } = ClientAddress.Text(socket.LocalEndPoint, "");

        public long Descriptor { get; } = socket.Handle;

        public void Dispose()
        {
            // The socket comes first: the end of an encrypted stream would wait for a message to the primary.
            socket.Dispose();
            stream.Dispose();
        }
    }
}
