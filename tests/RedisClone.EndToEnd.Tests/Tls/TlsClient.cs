using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Tls;

/// <summary>A client that sends inline commands through TLS and reads lines.</summary>
internal sealed class TlsClient : IDisposable
{
    private readonly SslStream _stream;
    private readonly StreamReader _reader;

    /// <param name="port">A port on this machine.</param>
    /// <param name="certificate">The files of the certificate and key of the client, if it has a certificate.</param>
    /// <param name="protocols">The TLS versions that the client supports.</param>
    public TlsClient(int port, (string Certificate, string Key)? certificate = null, SslProtocols protocols = SslProtocols.None)
    {
        var client = new TcpClient();
        client.Connect(IPAddress.Loopback, port);
        client.ReceiveTimeout = client.SendTimeout = 60_000;
        _stream = new SslStream(client.GetStream());
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "localhost", EnabledSslProtocols = protocols,
            // The test authority is in no certificate store. The test checks the certificate of the server itself.
            RemoteCertificateValidationCallback = (_, shown, _, _) => (ServerSerial = shown?.GetSerialNumberString() ?? "").Length > 0,
        };
        if (certificate is var (file, key)) options.ClientCertificates = [X509Certificate2.CreateFromPemFile(file, key)];
        _stream.AuthenticateAsClient(options);
        _reader = new StreamReader(_stream, Encoding.Latin1);
    }

    public string ServerSerial { get; private set; } = "";

    public SslProtocols Protocol => _stream.SslProtocol;

    public void Send(string commands) => _stream.Write(Encoding.Latin1.GetBytes(commands + "\r\n"));

    /// <summary>Returns the next line, or null at the end.</summary>
    public string? Read()
    {
        try
        {
            return _reader.ReadLine();
        }
        catch (IOException)
        {
            return null;
        }
    }

    /// <summary>Sends bytes, and returns whether any byte comes back before the end.</summary>
    public bool IsAnswered(ReadOnlySpan<byte> request)
    {
        _stream.Write(request);
        return _stream.ReadByte() >= 0;
    }

    public string? Call(string command)
    {
        Send(command);
        return Read();
    }

    public void Dispose() => _stream.Dispose();
}
