using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Tls;

/// <summary>A client that speaks inline commands through TLS and reads lines.</summary>
internal sealed class TlsClient : IDisposable
{
    private readonly SslStream _stream;
    private readonly StreamReader _reader;

    /// <param name="port">On this machine.</param>
    /// <param name="certificate">Files of the client's certificate and key, if it has one.</param>
    /// <param name="protocols">Versions that the client knows.</param>
    public TlsClient(int port, (string Certificate, string Key)? certificate = null, SslProtocols protocols = SslProtocols.None)
    {
        var client = new TcpClient();
        client.Connect(IPAddress.Loopback, port);
        client.ReceiveTimeout = client.SendTimeout = 60_000;
        _stream = new SslStream(client.GetStream());
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = "localhost", EnabledSslProtocols = protocols,
            // The test's authority is in no store; which certificate was shown is for the test to judge.
            RemoteCertificateValidationCallback = (_, shown, _, _) => (ServerSerial = shown?.GetSerialNumberString() ?? "").Length > 0,
        };
        if (certificate is var (file, key)) options.ClientCertificates = [X509Certificate2.CreateFromPemFile(file, key)];
        _stream.AuthenticateAsClient(options);
        _reader = new StreamReader(_stream, Encoding.Latin1);
    }

    public string ServerSerial { get; private set; } = "";

    public SslProtocols Protocol => _stream.SslProtocol;

    public void Send(string commands) => _stream.Write(Encoding.Latin1.GetBytes(commands + "\r\n"));

    /// <summary>The next line, null at the end.</summary>
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

    public string? Call(string command)
    {
        Send(command);
        return Read();
    }

    public void Dispose() => _stream.Dispose();
}
