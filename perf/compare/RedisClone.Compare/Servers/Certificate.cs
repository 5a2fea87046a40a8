using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace RedisClone.Compare.Servers;

/// <summary>A certificate for localhost that all servers with TLS share. Each server has its own copy in its directory.</summary>
internal static class Certificate
{
    private static readonly Lazy<(string Certificate, string Key)> s_pem = new(Create);

    /// <summary>Writes the certificate and its key into a directory. Returns their paths.</summary>
    public static (string Certificate, string Key) WriteTo(string directory)
    {
        (string certificate, string key) = (Path.Combine(directory, "server.crt"), Path.Combine(directory, "server.key"));
        File.WriteAllText(certificate, s_pem.Value.Certificate);
        File.WriteAllText(key, s_pem.Value.Key);
        return (certificate, key);
    }

    private static (string Certificate, string Key) Create()
    {
        using var key = RSA.Create(2048);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        DateTimeOffset now = DateTimeOffset.UtcNow;
        using X509Certificate2 certificate = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(30));
        return (certificate.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem());
    }
}
